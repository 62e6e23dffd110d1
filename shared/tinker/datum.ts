import { TinkerError } from './errors.ts';
import type { ServerSequence } from './training-server.ts';

/** Row-major; `shape` is [positions] or [positions, K]. */
export type Tensor = {
  readonly data: readonly number[];
  readonly dtype: 'float32' | 'int64';
  readonly shape: readonly number[];
};

/** One sequence: inputs are all tokens but the last, targets are all but the first. */
export type Datum = {
  readonly tokens: readonly number[];
  readonly inputs: ReadonlyMap<string, Tensor>;
};

/** Columns of each position: the sampled token, and its candidates behind it. */
type Row = {
  readonly values: ArrayLike<number>;
  /** values per position; default 1 */
  readonly width?: number;
};

/**
 * A datum with targets and rows of numbers over the response, padded with 0 over the prompt.
 *
 * @param candidates further target tokens of each response position, [T * count]
 * @throws INVALID_REQUEST if a row has another length, or a value that f32 cannot hold
 */
export function createDatum(
  { promptIds, responseIds }: ServerSequence,
  rows: Readonly<Record<string, Row>>,
  candidates?: { readonly count: number; readonly ids: ArrayLike<number> },
): Datum {
  const all = [...promptIds, ...responseIds];
  const positions = all.length - 1;
  const before = promptIds.length - 1;
  const inputs = new Map<string, Tensor>();
  const targets = all.slice(1);
  if (candidates === undefined)
    inputs.set('target_tokens', { data: targets, dtype: 'int64', shape: [positions] });
  else {
    const { count, ids } = candidates;
    const data = targets.flatMap((target, position) => [
      target,
      ...Array.from({ length: count }, (_, k) => ids[(position - before) * count + k] ?? 0),
    ]);
    inputs.set('target_tokens', { data, dtype: 'int64', shape: [positions, 1 + count] });
  }
  for (const [name, { values, width = 1 }] of Object.entries(rows)) {
    if (values.length !== responseIds.length * width)
      throw invalid(`${name} has ${values.length} values for ${responseIds.length} tokens`);
    const data = [...new Array<number>(before * width).fill(0), ...Array.from(values)];
    const broken = data.find((value) => !Number.isFinite(Math.fround(value)));
    if (broken !== undefined) throw invalid(`${name} contains ${broken}`);
    inputs.set(name, { data, dtype: 'float32', shape: width === 1 ? [positions] : [positions, width] });
  }
  return { tokens: all.slice(0, -1), inputs };
}

type SequenceLimits = {
  /** ids at or above this are refused; undefined: unknown */
  readonly vocabularySize: number | undefined;
  /** tokens of prompt and response together; undefined: unknown */
  readonly contextTokens: number | undefined;
};

/**
 * A server may compute the requests of several models together, so a bad one fails its neighbours too.
 *
 * @throws INVALID_REQUEST
 */
export function checkSequences(
  sequences: readonly ServerSequence[],
  { vocabularySize = Infinity, contextTokens = Infinity }: SequenceLimits,
): void {
  if (sequences.length === 0) throw invalid('it has no sequence');
  sequences.forEach(({ promptIds, responseIds }, index) => {
    if (promptIds.length === 0 || responseIds.length === 0)
      throw invalid(`sequence ${index} has an empty prompt or response`);
    const length = promptIds.length + responseIds.length;
    if (length > contextTokens)
      throw invalid(`sequence ${index} has ${length} tokens, and the model takes ${contextTokens}`);
    for (const ids of [promptIds, responseIds])
      for (const id of ids)
        if (!Number.isInteger(id) || id < 0 || id >= vocabularySize)
          throw invalid(`sequence ${index} contains the token ${id}, outside the vocabulary`);
  });
}

/** @throws INVALID_REQUEST unless the rows have the sequences' lengths and finite values */
export function checkRows(
  name: string,
  rows: readonly (ArrayLike<number> | undefined)[],
  lengths: readonly number[],
): void {
  if (rows.length !== lengths.length)
    throw invalid(`${name} has ${rows.length} rows for ${lengths.length} sequences`);
  rows.forEach((row, index) => {
    if (row === undefined) return;
    if (row.length !== lengths[index])
      throw invalid(`${name} has ${row.length} values for sequence ${index}, which needs ${lengths[index]}`);
    for (let at = 0; at < row.length; at++)
      if (!Number.isFinite(row[at])) throw invalid(`${name} of sequence ${index} contains ${row[at]}`);
  });
}

/** @throws INVALID_REQUEST */
export function checkName(name: string): void {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(name))
    throw invalid(`'${name}' is no name of a state: use letters, digits, _ and -`);
}

export const invalid = (detail: string) => TinkerError.INVALID_REQUEST({ detail });

/** Limits of one request, those of the hosted service. */
const MOST_DATUMS = 1024;
const MOST_BYTES = 5_000_000;

const numbersOf = ({ tokens, inputs }: Datum): number =>
  [...inputs.values()].reduce((sum, { data }) => sum + data.length, tokens.length);

/**
 * Splits datums, in order, into requests of bounded size. A datum above the size goes alone.
 *
 * @param bytesPerNumber of the encoding, about
 */
export function chunksOf(datums: readonly Datum[], bytesPerNumber: number): readonly (readonly Datum[])[] {
  const chunks: Datum[][] = [];
  let bytes = 0;
  for (const datum of datums) {
    const size = numbersOf(datum) * bytesPerNumber;
    const last = chunks.at(-1);
    if (last === undefined || last.length === MOST_DATUMS || bytes + size > MOST_BYTES) {
      chunks.push([datum]);
      bytes = size;
    } else {
      last.push(datum);
      bytes += size;
    }
  }
  return chunks;
}
