import type { Decoder } from '../../../../shared/policy/decoding.ts';
import { createRandom, type Random } from '../../../../shared/policy/random.ts';
import { type SamplingSettings, sampleToken } from '../../../../shared/policy/sampling.ts';

export type Question = { readonly id: number; readonly promptIds: readonly number[]; readonly seed: number };

type Parts = {
  readonly decoder: Pick<Decoder, 'begin' | 'read' | 'step' | 'release'>;
  readonly sampling: SamplingSettings;
  readonly endIds: ReadonlySet<number>;
  /** of one answer at most */
  readonly maxTokens: number;
  /** of prompt and answer at most */
  readonly maxPositions: number;
  /** of the cache of all answers that are generated at a time */
  readonly cachePositions: number;
  /** Gets each answer, without the token that ended it. */
  readonly answered: (question: Question, ids: readonly number[]) => void;
};

type Running = {
  readonly question: Question;
  readonly slot: number;
  readonly random: Random;
  readonly ids: number[];
};

/** Answers that are generated side by side: a model that reads its weights once for all is faster so. */
export const AT_ONCE = 4;

/**
 * Generates answers, a few side by side, each with the random numbers of its own seed: the same
 * question draws the same ones again. Of the prompts that do not fit beside those that run, the first waits, and those behind
 * it. A prompt must be shorter than `maxPositions`.
 */
export function createSideBySide(parts: Parts) {
  const { decoder, sampling, endIds, maxTokens, maxPositions, cachePositions, answered } = parts;
  let waiting: readonly Question[] = [];
  /** its prompt is being read */
  let reading: Running | undefined;
  let writing: readonly Running[] = [];

  const needOf = ({ promptIds }: Question): number => Math.min(maxPositions, promptIds.length + maxTokens);
  const running = (): readonly Running[] => [...writing, ...(reading === undefined ? [] : [reading])];
  const hasRoomFor = (question: Question): boolean => {
    const beside = running().map((one) => needOf(one.question));
    if (beside.length === 0) return true;
    return beside.length < AT_ONCE && AT_ONCE * Math.max(needOf(question), ...beside) <= cachePositions;
  };
  /** @returns whether the answer goes on */
  const take = ({ question, random, ids, slot }: Running, logits: Float32Array): boolean => {
    const { id } = sampleToken(logits, sampling, random);
    const ended = endIds.has(id);
    if (!ended) ids.push(id);
    if (!ended && question.promptIds.length + ids.length < needOf(question)) return true;
    decoder.release(slot);
    answered(question, ids);
    return false;
  };
  const begin = (): void => {
    const [next, ...rest] = waiting;
    if (reading !== undefined || next === undefined || !hasRoomFor(next)) return;
    const slot = decoder.begin(next.promptIds);
    waiting = rest;
    reading = { question: next, random: createRandom(next.seed), ids: [], slot };
  };
  const readOn = (): void => {
    const one = reading;
    const logits = one && decoder.read(one.slot)?.logits;
    if (one === undefined || logits === undefined) return;
    // what fails is still among those that run, and is named with them
    reading = undefined;
    writing = [...writing, one];
    if (!take(one, logits)) writing = writing.filter((other) => other !== one);
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
    /** One piece of a prompt and one token of each answer. @returns whether there is more to do */
    advance(): boolean {
      begin();
      readOn();
      if (writing.length > 0) {
        const logits = decoder.step(writing.map(({ slot, ids }) => ({ slot, id: ids.at(-1)! })));
        for (const [row, one] of writing.entries())
          if (!take(one, logits[row]!)) writing = writing.filter((other) => other !== one);
      }
      return waiting.length > 0 || running().length > 0;
    },
    /** Gives everything up, as after a failure. @returns the ids of what was asked */
    dropAll(): readonly number[] {
      const ids = [...waiting.map(({ id }) => id), ...running().map(({ question }) => question.id)];
      for (const { slot } of running()) decoder.release(slot);
      [waiting, reading, writing] = [[], undefined, []];
      return ids;
    },
  };
}
