import type { Decoder } from '../../../../shared/policy/decode/decoding.ts';
import { type SamplingSettings, sampleToken } from '../../../../shared/policy/decode/sampling.ts';
import { createRandom, type Random } from '../../../../shared/policy/model/random.ts';

export type Question = { readonly id: number; readonly promptIds: readonly number[]; readonly seed: number };

type Parts = {
  readonly decoder: Pick<Decoder, 'begin' | 'read' | 'step' | 'release'>;
  readonly sampling: SamplingSettings;
  readonly endIds: ReadonlySet<number>;
  /** limit for one answer */
  readonly maxTokens: number;
  /** limit for one prompt with its answer */
  readonly maxPositions: number;
  /** limit for all answers in progress */
  readonly cachePositions: number;
  /** Called with each answer, without its end token. */
  readonly answered: (question: Question, ids: readonly number[]) => void;
};

type Running = {
  readonly question: Question;
  readonly slot: number;
  readonly random: Random;
  readonly ids: number[];
};

/** Maximum answers in progress: one pass over the weights serves all of them. */
export const AT_ONCE = 4;

/**
 * Generates a few answers in parallel. Each has its own seed, so the same question draws the same random numbers. A
 * prompt that does not fit in addition to the running ones waits, as do all prompts after it. A prompt must be shorter
 * than `maxPositions`.
 */
export function createSideBySide(parts: Parts) {
  const { decoder, sampling, endIds, maxTokens, maxPositions, cachePositions, answered } = parts;
  let waiting: readonly Question[] = [];
  /** the answer whose prompt is being read */
  let reading: Running | undefined;
  let writing: readonly Running[] = [];

  const positionsFor = ({ promptIds }: Question): number =>
    Math.min(maxPositions, promptIds.length + maxTokens);
  const running = (): readonly Running[] => [...writing, ...(reading === undefined ? [] : [reading])];
  const hasRoomFor = (question: Question): boolean => {
    const inUse = running().map(({ question: other }) => positionsFor(other));
    if (inUse.length === 0) return true;
    return inUse.length < AT_ONCE && AT_ONCE * Math.max(positionsFor(question), ...inUse) <= cachePositions;
  };
  /** Adds the next token. @returns whether the answer continues */
  const sample = ({ question, random, ids, slot }: Running, logits: Float32Array): boolean => {
    const { id } = sampleToken(logits, sampling, random);
    const ended = endIds.has(id);
    if (!ended) ids.push(id);
    if (!ended && question.promptIds.length + ids.length < positionsFor(question)) return true;
    decoder.release(slot);
    answered(question, ids);
    return false;
  };
  const begin = (): void => {
    const [next, ...others] = waiting;
    if (reading !== undefined || next === undefined || !hasRoomFor(next)) return;
    const slot = decoder.begin(next.promptIds);
    waiting = others;
    reading = { question: next, random: createRandom(next.seed), ids: [], slot };
  };
  const readOn = (): void => {
    const one = reading;
    const logits = one && decoder.read(one.slot)?.logits;
    if (one === undefined || logits === undefined) return;
    // if sampling fails, dropAll still finds this answer among the running ones
    reading = undefined;
    writing = [...writing, one];
    if (!sample(one, logits)) writing = writing.filter((other) => other !== one);
  };

  return {
    ask(question: Question): void {
      waiting = [...waiting, question];
    },
    drop(id: number): void {
      const isOther = ({ question }: Running) => question.id !== id;
      for (const one of running()) if (!isOther(one)) decoder.release(one.slot);
      waiting = waiting.filter((question) => question.id !== id);
      writing = writing.filter(isOther);
      if (reading !== undefined && !isOther(reading)) reading = undefined;
    },
    /** Reads one chunk of a prompt and samples one token per answer. @returns whether work remains */
    advance(): boolean {
      begin();
      readOn();
      if (writing.length > 0) {
        const logits = decoder.step(writing.map(({ slot, ids }) => ({ slot, id: ids.at(-1)! })));
        for (const [row, one] of writing.entries())
          if (!sample(one, logits[row]!)) writing = writing.filter((other) => other !== one);
      }
      return waiting.length > 0 || running().length > 0;
    },
    /** Drops all questions, as after a failure. @returns their ids */
    dropAll(): readonly number[] {
      const ids = [...waiting.map(({ id }) => id), ...running().map(({ question }) => question.id)];
      for (const { slot } of running()) decoder.release(slot);
      [waiting, reading, writing] = [[], undefined, []];
      return ids;
    },
  };
}
