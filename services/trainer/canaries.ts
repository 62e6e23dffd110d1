import type { PolicySequence } from '../../shared/policy/batching.ts';
import type { TrainedWeights } from '../../shared/policy/full-weights.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';
import type { SampledAnswer } from './speech.ts';

/** What a version's answers are like: to the shipped requests, and to a few of the person's. Shares are 0 to 1. */
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
   * answers to the shipped requests
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
/** Prompts of a batch, those of earlier ones, and tokens of one. */
const OWN = 4;
const EARLIER = 4;
const LONGEST_PROMPT = 1024;
/** Requests with a wish, per wish. */
const WISHED = 4;
/** Other requests that an answer might be to. */
const OTHERS = [1, 5];

/** Wishes that the beginning of an answer shows to be met. */
const steering: readonly WishKind[] = ['list', 'greeting', 'one-sentence'];

/** One answer, in numbers. */
type Spoken = {
  readonly said: string;
  readonly tokens: number;
  readonly ended: boolean;
  readonly repetition: number;
  /** sums over its tokens, nats */
  readonly logProb: number;
  readonly byBase: number;
  readonly absurd: number;
};

/** What is made of the shipped requests alone. */
type Shipped = { readonly spoken: readonly Spoken[] } & Pick<CanaryFigures, 'content' | 'steered'>;

const ofBases = new WeakMap<LearningEngine, Shipped>();

/**
 * Of a version; the same engine, version and requests give the same figures. What the base, which does not change,
 * says to the shipped requests is made once for an engine.
 *
 * @param adapter undefined: the base
 * @param own prompts of the person's, beside the shipped requests
 */
export function canaryFigures(
  engine: LearningEngine,
  voice: Voice,
  adapter: TrainedWeights | undefined,
  own: readonly (readonly number[])[] = [],
): CanaryFigures {
  const known = adapter === undefined ? ofBases.get(engine) : undefined;
  const { spoken, content, steered } = known ?? shippedOf(engine, voice, adapter);
  if (adapter === undefined) ofBases.set(engine, { spoken, content, steered });
  const answers = voice.sample(adapter, { prompts: own, seed: 'own', tokens: TOKENS });
  const all = [...spoken, ...listen(engine, adapter, own, answers)];
  const sum = (of: (one: Spoken) => number) => all.reduce((total, one) => total + of(one), 0);
  const tokens = sum((one) => one.tokens);
  return {
    distinct: new Set(all.map(({ said }) => said)).size / all.length,
    ended: sum(({ ended }) => Number(ended)) / all.length,
    length: tokens / all.length,
    entropy: -sum(({ logProb }) => logProb) / tokens,
    repetition: sum(({ repetition }) => repetition) / all.length,
    klToBase: sum(({ logProb, byBase }) => logProb - byBase) / tokens,
    absurd: sum(({ absurd }) => absurd) / tokens,
    content,
    steered,
  };
}

/** Whether the model takes a request of a person alone, and has room for an answer: not every template does. */
export function takesRequests(engine: LearningEngine, requests: readonly string[]): boolean {
  try {
    return requests.every((content) => asked(engine, content).length + 2 * TOKENS <= engine.contextTokens);
  } catch {
    return false;
  }
}

export const asked = (engine: LearningEngine, content: string): readonly number[] =>
  engine.writePrompt({ messages: [{ role: 'user', content }], tools: [], variables: {} });

function shippedOf(engine: LearningEngine, voice: Voice, adapter: TrainedWeights | undefined): Shipped {
  const write = (content: string) => asked(engine, content);
  const prompts = voice.canaries.map(write);
  const answers = voice.sample(adapter, { prompts, seed: 'canaries', tokens: TOKENS });
  const spoken = listen(engine, adapter, prompts, answers);
  const elsewhere = OTHERS.map((shift) => {
    const others = prompts.map((_, index) => prompts.at((index + shift) % prompts.length)!);
    return scored(engine, undefined, others, answers).map(total);
  });
  const content = spoken.map(
    ({ byBase }, index) => 1 / (1 + elsewhere.reduce((sum, row) => sum + Math.exp(row[index]! - byBase), 0)),
  );
  return { spoken, content: mean(content), steered: steered(voice, adapter, write) };
}

function listen(
  engine: LearningEngine,
  adapter: TrainedWeights | undefined,
  prompts: readonly (readonly number[])[],
  answers: readonly SampledAnswer[],
): readonly Spoken[] {
  const byBase = scored(engine, undefined, prompts, answers);
  const own = adapter === undefined ? byBase : scored(engine, adapter, prompts, answers);
  return answers.map(({ ids, ended }, index) => ({
    ...{ said: ids.join(), tokens: ids.length, ended, repetition: repeated(ids) },
    ...{ logProb: total(own[index]!), byBase: total(byBase[index]!) },
    absurd: byBase[index]!.filter((logProb) => logProb < ABSURD).length,
  }));
}

const total = (row: Float32Array): number => row.reduce((sum, logProb) => sum + logProb, 0);

type Prompt = Pick<PolicySequence, 'promptIds'>;

/**
 * Prompts of a batch that a version may answer once more, and behind them those of earlier batches: each once, a
 * few of either, not the long ones.
 */
export function ownPrompts(
  sequences: readonly Prompt[],
  { contextTokens }: Pick<LearningEngine, 'contextTokens'>,
  earlier: readonly Prompt[] = [],
): readonly (readonly number[])[] {
  const longest = Math.min(LONGEST_PROMPT, contextTokens - TOKENS);
  const each = (prompts: readonly Prompt[]) =>
    new Map(
      prompts
        .filter(({ promptIds }) => promptIds.length <= longest)
        .map(({ promptIds }) => [promptIds.join(), promptIds]),
    );
  const own = each(sequences);
  const others = [...each(earlier)].filter(([ids]) => !own.has(ids)).map(([, promptIds]) => promptIds);
  return [...[...own.values()].slice(0, OWN), ...others.slice(0, EARLIER)];
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
  const requests = steering.flatMap((wish) =>
    voice.canaries.slice(0, WISHED).map((text) => ({ wish, prompt: write(`${text} ${wishes[wish].hint}`) })),
  );
  const prompts = requests.map(({ prompt }) => prompt);
  const answers = voice.sample(adapter, { prompts, seed: 'wishes', tokens: WISHED_TOKENS });
  return mean(answers.map(({ ids }, index) => wishMet(requests[index]!.wish, voice.read(ids)) ?? 0));
}

const RUN = 4;

/** Share of an answer's runs of four tokens that came before in it. */
export function repeated(ids: readonly number[]): number {
  const runs = ids.slice(0, Math.max(0, ids.length - RUN + 1)).map((_, at) => ids.slice(at, at + RUN).join());
  return runs.length === 0 ? 0 : 1 - new Set(runs).size / runs.length;
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
