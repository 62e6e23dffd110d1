import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';
import type { SampledAnswer } from './speech.ts';

/** What a version's answers to the shipped requests are like. Shares are 0 to 1. */
export type CanaryFigures = {
  /** different answers among all */
  readonly distinct: number;
  /** answers that came to their end */
  readonly ended: number;
  /** mean, tokens */
  readonly length: number;
  /** mean of -log p of the tokens under the version itself, nats */
  readonly entropy: number;
  /** runs of four tokens that stand in their answer before, mean over answers */
  readonly repetition: number;
  /** mean over tokens of log p(version) - log p(base), nats: an estimate of KL(version || base) on its own answers */
  readonly klToBase: number;
  /**
   * how surely the base tells from an answer which request it answers: its probability among a few, mean over
   * answers
   */
  readonly content: number;
  /** tokens that the base finds absurd where they stand */
  readonly absurd: number;
  /** answers that meet a wish that the request states */
  readonly steered: number;
};

/** Tokens of an answer; what it is about shows in its beginning, and its form even sooner. */
const TOKENS = 64;
const WISHED_TOKENS = 40;
/** log p of a token that the base finds absurd, nats */
const ABSURD = -5;
/** Requests with a wish, per wish. */
const WISHED = 4;
/** Other requests that an answer might be to. */
const OTHERS = [1, 5];

/** Wishes that the beginning of an answer shows to be met. */
const steering: readonly WishKind[] = ['list', 'greeting', 'one-sentence'];

const ofBases = new WeakMap<LearningEngine, CanaryFigures>();

/** Of the base, which does not change: they are made once for an engine. */
export function baseFigures(engine: LearningEngine, voice: Voice): CanaryFigures {
  const known = ofBases.get(engine) ?? canaryFigures(engine, voice, undefined);
  ofBases.set(engine, known);
  return known;
}

/** Of a version; the same engine and version give the same figures. */
export function canaryFigures(
  engine: LearningEngine,
  voice: Voice,
  adapter: TrainedWeights | undefined,
): CanaryFigures {
  const write = (content: string) =>
    engine.writePrompt({ messages: [{ role: 'user', content }], tools: [], variables: {} });
  const prompts = voice.canaries.map(write);
  const answers = voice.sample(adapter, { prompts, seed: 'canaries', tokens: TOKENS });
  const own = scored(engine, adapter, prompts, answers);
  const byBase = scored(engine, undefined, prompts, answers);
  const tokens = answers.reduce((sum, { ids }) => sum + ids.length, 0);
  const rowSums = (rows: Rows) => rows.map((row) => row.reduce((sum, logProb) => sum + logProb, 0));
  const total = (rows: Rows) => rowSums(rows).reduce((sum, value) => sum + value, 0);
  const elsewhere = OTHERS.map((shift) =>
    rowSums(
      scored(
        engine,
        undefined,
        prompts.map((_, index) => prompts.at((index + shift) % prompts.length)!),
        answers,
      ),
    ),
  );
  return {
    distinct: new Set(answers.map(({ ids }) => ids.join())).size / answers.length,
    ended: mean(answers.map(({ ended }) => Number(ended))),
    length: tokens / answers.length,
    entropy: -total(own) / tokens,
    repetition: mean(answers.map(({ ids }) => repeated(ids))),
    klToBase: (total(own) - total(byBase)) / tokens,
    content: mean(
      rowSums(byBase).map(
        (here, index) => 1 / (1 + elsewhere.reduce((sum, row) => sum + Math.exp(row[index]! - here), 0)),
      ),
    ),
    absurd: byBase.flatMap((row) => [...row]).filter((logProb) => logProb < ABSURD).length / tokens,
    steered: steered(voice, adapter, write),
  };
}

type Rows = readonly Float32Array[];

function scored(
  engine: LearningEngine,
  adapter: TrainedWeights | undefined,
  prompts: readonly (readonly number[])[],
  answers: readonly SampledAnswer[],
): Rows {
  const sequences = answers.map(
    ({ ids, temperature }, index): PolicySequence => ({
      promptIds: prompts[index]!,
      responseIds: ids,
      temperature,
    }),
  );
  return engine.score(adapter, sequences);
}

function steered(
  voice: Voice,
  adapter: TrainedWeights | undefined,
  write: (content: string) => readonly number[],
): number {
  const asked = steering.flatMap((wish) =>
    voice.canaries.slice(0, WISHED).map((text) => ({ wish, prompt: write(`${text} ${wishes[wish].hint}`) })),
  );
  const prompts = asked.map(({ prompt }) => prompt);
  const answers = voice.sample(adapter, { prompts, seed: 'wishes', tokens: WISHED_TOKENS });
  return mean(answers.map(({ ids }, index) => wishMet(asked[index]!.wish, voice.read(ids)) ?? 0));
}

const RUN = 4;

/** Share of an answer's runs of four tokens that came before in it. */
export function repeated(ids: readonly number[]): number {
  const runs = ids.slice(0, Math.max(0, ids.length - RUN + 1)).map((_, at) => ids.slice(at, at + RUN).join());
  return runs.length === 0 ? 0 : 1 - new Set(runs).size / runs.length;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
