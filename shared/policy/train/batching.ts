import type { Executor } from '../executors/executor.ts';
import type { AllowedRows } from '../ops/restriction.ts';

/** A position of a response whose token was sampled among these tokens only. */
type AllowedTokens = { readonly at: number; readonly ids: readonly number[] };

/** A prompt and the answer to it, both as tokens. */
export type PolicySequence = {
  readonly promptIds: readonly number[];
  readonly responseIds: readonly number[];
  /** Temperature of the log-probs; see effectiveTemperature. Default 1. */
  readonly temperature?: number;
  /** Positions of the response at which a guard allowed only some tokens. Default: none. */
  readonly allowed?: readonly AllowedTokens[] | undefined;
};

/** Sequences that are computed together, padded to one length. */
export type Microbatch = {
  readonly batch: number;
  readonly positions: number;
  /** batch * positions tokens; padding is token 0 and is never seen by a real row. */
  readonly ids: Int32Array;
  /** Rows (of batch * positions) whose next token is a response token. */
  readonly rows: Int32Array;
  /** That next token, per row. */
  readonly targets: Int32Array;
  readonly temperatures: Float32Array;
  /** Per row; undefined: no row is restricted. */
  readonly allowed: AllowedRows | undefined;
  /** Indices of the sequences that `rows` come from, in order. */
  readonly members: readonly number[];
};

/** Default number of tokens of one microbatch, including padding. */
export const defaultMicrobatchTokens = 4096;
/** Limit of batch * positions^2 of one microbatch, the memory of attention: one sequence of 2048. */
const maxSquares = 4_194_304;

/**
 * Groups sequences of similar length, so that there is little padding and no group is too large. A single sequence
 * may exceed the limits. Deterministic, because the grouping affects the last bits of a gradient.
 *
 * @param tokens budget of one microbatch, including padding
 * @param step positions are padded to a multiple of it
 * @throws Error if a sequence has an empty prompt
 */
export function planMicrobatches(
  sequences: readonly PolicySequence[],
  tokens = defaultMicrobatchTokens,
  step = 1,
): readonly Microbatch[] {
  const length = (index: number): number => {
    const { promptIds, responseIds } = sequences[index]!;
    return Math.ceil((promptIds.length + responseIds.length) / step) * step;
  };
  for (const { promptIds } of sequences)
    if (promptIds.length === 0) throw new Error('a sequence has an empty prompt');
  const order = sequences
    .map((_, index) => index)
    .filter((index) => sequences[index]!.responseIds.length > 0);
  order.sort((a, b) => length(a) - length(b) || a - b);
  const groups: number[][] = [];
  for (const index of order) {
    const group = groups.at(-1);
    const count = (group?.length ?? 0) + 1;
    const fits = count * length(index) <= tokens && count * length(index) ** 2 <= maxSquares;
    if (group !== undefined && fits) group.push(index);
    else groups.push([index]);
  }
  return groups.map((members) => pad(sequences, members, step));
}

/**
 * Like `planMicrobatches`, padded for the executor. On native, oneDNN compiles a program for each shape of a product,
 * and TensorFlow keeps the latest thousand. Padding to a few lengths saves the compilation in each step of claw-nano,
 * and up to 5 MB of memory per step.
 */
export const microbatchesOn = (
  { kind }: Pick<Executor, 'kind'>,
  sequences: readonly PolicySequence[],
  tokens = defaultMicrobatchTokens,
): readonly Microbatch[] => planMicrobatches(sequences, tokens, kind === 'native' ? 32 : 1);

function pad(sequences: readonly PolicySequence[], members: readonly number[], step: number): Microbatch {
  const chosen = members.map((index) => sequences[index]!);
  // The last token is only predicted, never read.
  const longest =
    Math.max(...chosen.map(({ promptIds, responseIds }) => promptIds.length + responseIds.length)) - 1;
  const positions = Math.ceil(longest / step) * step;
  const ids = new Int32Array(chosen.length * positions);
  const rows: number[] = [];
  const temperatures: number[] = [];
  const allowedRows: (readonly number[] | undefined)[] = [];
  chosen.forEach(({ promptIds, responseIds, temperature = 1, allowed = [] }, i) => {
    const allowedAt = new Map(allowed.map(({ at, ids: tokens }) => [at, tokens]));
    ids.set(promptIds, i * positions);
    ids.set(responseIds.slice(0, -1), i * positions + promptIds.length);
    responseIds.forEach((_, t) => {
      rows.push(i * positions + promptIds.length - 1 + t);
      temperatures.push(temperature);
      allowedRows.push(allowedAt.get(t));
    });
  });
  return {
    batch: chosen.length,
    positions,
    ids,
    rows: Int32Array.from(rows),
    targets: Int32Array.from(chosen.flatMap(({ responseIds }) => responseIds)),
    temperatures: Float32Array.from(temperatures),
    allowed: allowedRows.some((tokens) => tokens !== undefined) ? allowedRows : undefined,
    members,
  };
}

/** Splits values of a microbatch's rows, `width` per row, into one array per member. */
export function perMember(
  { members }: Microbatch,
  sequences: readonly PolicySequence[],
  values: Float32Array,
  width = 1,
): readonly (readonly [index: number, values: Float32Array])[] {
  let at = 0;
  return members.map((index) => {
    const start = at;
    at += sequences[index]!.responseIds.length * width;
    return [index, values.slice(start, at)] as const;
  });
}
