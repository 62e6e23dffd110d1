import { defined } from '../../shared/lang/defined.ts';
import { mean, sum } from '../../shared/lang/numbers.ts';
import type { TrainedWeights } from '../../shared/policy/checkpoints/full-weights.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { wishMet } from '../../shared/wishes/measure.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';
import { readAnswer, requestPrompt } from './own-requests.ts';
import type { SampledAnswer } from './speech.ts';

/**
 * Statistics of a version's answers to the shipped requests and to a few requests of the person. Shares are 0
 * to 1.
 */
export type AnswerFigures = {
  /** share of distinct answers */
  readonly distinct: number;
  /** share of answers that ended within the token limit */
  readonly ended: number;
  /** mean, tokens */
  readonly length: number;
  /** mean of -log p of the tokens under the version itself, nats */
  readonly entropy: number;
  /** share of runs of four tokens that occur earlier in the same answer, mean over answers */
  readonly repetition: number;
  /**
   * mean over tokens of log p(version) - log p(base), nats, which estimates KL(version || base) on its own
   * answers
   */
  readonly klToBase: number;
  /**
   * probability with which the base recognises the answered request among a few, mean over answers to the
   * shipped requests
   */
  readonly content: number;
  /** the same for the person's own prompts; absent: too few of them belong to different conversations */
  readonly ownContent?: number;
  /** share of tokens that are absurd to the base in their place */
  readonly absurd: number;
  /** share of answers that meet a wish stated in the request */
  readonly steered: number;
  /** see `absurdAnswers`; absent: not asked */
  readonly absurdAnswers?: number;
};

/** Tokens per answer. Its subject shows at the beginning, and its form even sooner. */
const TOKENS = 64;
const WISHED_TOKENS = 40;
/** log p below which a token is absurd to the base, nats */
export const ABSURD = -5;
/** Number of prompts from the batch and from earlier batches, and tokens per prompt. */
const BATCH_PROMPTS = 4;
const EARLIER_PROMPTS = 4;
const LONGEST_PROMPT = 1024;
/** Requests per wish. */
const REQUESTS_PER_WISH = 4;
/** Offsets of the other requests that an answer is compared with. */
const OTHERS = [1, 5];
/** Prompts of the person below which chance decides whether the base recognises them. */
const LEAST_OWN = 4;

/** Wishes for which the beginning of an answer shows whether they are met. */
const steering: readonly WishKind[] = ['list', 'greeting', 'one-sentence'];

/** The measurements of one answer. */
type MeasuredAnswer = {
  readonly text: string;
  readonly tokens: number;
  readonly ended: boolean;
  readonly repetition: number;
  /** sums over its tokens, nats */
  readonly logProb: number;
  readonly byBase: number;
  readonly absurd: number;
};

/** Figures from the shipped requests only. */
type ShippedFigures = { readonly spoken: readonly MeasuredAnswer[] } & Pick<
  AnswerFigures,
  'content' | 'steered'
>;

const baseFigures = new WeakMap<LearningEngine, ShippedFigures>();

/**
 * Figures of a version. The same engine, version and requests give the same figures. The base's answers to the
 * shipped requests do not change, so they are computed once per engine.
 *
 * @param adapter undefined: the base
 * @param ownPrompts prompts of the person, in addition to the shipped requests
 */
export function answerFigures(
  engine: LearningEngine,
  voice: Voice,
  adapter: TrainedWeights | undefined,
  ownPrompts: readonly (readonly number[])[] = [],
): AnswerFigures {
  const known = adapter === undefined ? baseFigures.get(engine) : undefined;
  const { spoken, content, steered } = known ?? shippedFigures(engine, voice, adapter);
  if (adapter === undefined) baseFigures.set(engine, { spoken, content, steered });
  const answers = voice.sample(adapter, { prompts: ownPrompts, seed: 'own', tokens: TOKENS });
  const own = measureAnswers(engine, adapter, ownPrompts, answers);
  const all = [...spoken, ...own];
  const sumOf = (of: (answer: MeasuredAnswer) => number) => sum(all.map(of));
  const tokens = sumOf((answer) => answer.tokens);
  return {
    distinct: new Set(all.map(({ text }) => text)).size / all.length,
    ended: sumOf(({ ended }) => Number(ended)) / all.length,
    length: tokens / all.length,
    entropy: -sumOf(({ logProb }) => logProb) / tokens,
    repetition: sumOf(({ repetition }) => repetition) / all.length,
    klToBase: sumOf(({ logProb, byBase }) => logProb - byBase) / tokens,
    absurd: sumOf(({ absurd }) => absurd) / tokens,
    content,
    ...defined({ ownContent: ownContent(engine, ownPrompts, answers, own) }),
    steered,
  };
}

/** Whether the model's template accepts a single user message, and the context has room for an answer. */
export function canAnswer(engine: LearningEngine, requests: readonly string[]): boolean {
  try {
    return requests.every(
      (content) =>
        requestPrompt(engine, [{ role: 'user', content }]).length + 2 * TOKENS <= engine.contextTokens,
    );
  } catch {
    return false;
  }
}

function shippedFigures(
  engine: LearningEngine,
  voice: Voice,
  adapter: TrainedWeights | undefined,
): ShippedFigures {
  const write = (content: string) => requestPrompt(engine, [{ role: 'user', content }]);
  const prompts = voice.gateRequests.map(write);
  // the seed decides the answers, so that it keeps its name
  const answers = voice.sample(adapter, { prompts, seed: 'canaries', tokens: TOKENS });
  const spoken = measureAnswers(engine, adapter, prompts, answers);
  const others = prompts.map((_, index) => OTHERS.map((shift) => (index + shift) % prompts.length));
  const content = recognised(engine, prompts, { answers, spoken, others });
  return { spoken, content: mean(content), steered: steerability(voice, adapter, write) };
}

/**
 * Probability with which the base, from an answer alone, recognises its prompt among others, per answer.
 * @param others indices of the other prompts for each answer, equally many for all
 */
function recognised(
  engine: LearningEngine,
  prompts: readonly (readonly number[])[],
  {
    answers,
    spoken,
    others,
  }: {
    readonly answers: readonly SampledAnswer[];
    readonly spoken: readonly MeasuredAnswer[];
    readonly others: readonly (readonly number[])[];
  },
): readonly number[] {
  const elsewhere = OTHERS.map((_, which) => {
    const swapped = others.map((row) => prompts[row[which]!]!);
    return scoreAnswers(engine, undefined, swapped, answers).map(sum);
  });
  return spoken.map(
    ({ byBase }, index) => 1 / (1 + elsewhere.reduce((sum, row) => sum + Math.exp(row[index]! - byBase), 0)),
  );
}

/** Prompts of one conversation are about one subject, so each is compared with those of other conversations. */
function ownContent(
  engine: LearningEngine,
  prompts: readonly (readonly number[])[],
  answers: readonly SampledAnswer[],
  spoken: readonly MeasuredAnswer[],
): number | undefined {
  const others = prompts.map((prompt, index) => othersOf(prompts, prompt, index));
  const counted = others.flatMap((row, index) => (row.length < OTHERS.length ? [] : [index]));
  if (counted.length < LEAST_OWN) return undefined;
  const content = recognised(engine, prompts, {
    answers: counted.map((index) => answers[index]!),
    spoken: counted.map((index) => spoken[index]!),
    others: counted.map((index) => others[index]!),
  });
  return mean(content);
}

const othersOf = (
  prompts: readonly (readonly number[])[],
  prompt: readonly number[],
  index: number,
): readonly number[] =>
  prompts
    .map((_, shift) => (index + shift) % prompts.length)
    .filter((other) => !begins(prompts[other]!, prompt) && !begins(prompt, prompts[other]!))
    .slice(0, OTHERS.length);

const begins = (whole: readonly number[], start: readonly number[]): boolean =>
  whole.length >= start.length && start.every((id, at) => whole[at] === id);

function measureAnswers(
  engine: LearningEngine,
  adapter: TrainedWeights | undefined,
  prompts: readonly (readonly number[])[],
  answers: readonly SampledAnswer[],
): readonly MeasuredAnswer[] {
  const byBase = scoreAnswers(engine, undefined, prompts, answers);
  const own = adapter === undefined ? byBase : scoreAnswers(engine, adapter, prompts, answers);
  return answers.map(({ ids, ended }, index) => ({
    text: ids.join(),
    tokens: ids.length,
    ended,
    repetition: repetitionOf(ids),
    logProb: sum(own[index]!),
    byBase: sum(byBase[index]!),
    absurd: byBase[index]!.filter((logProb) => logProb < ABSURD).length,
  }));
}

type Prompt = Pick<PolicySequence, 'promptIds'>;

/**
 * Prompts for the gate: a few short ones from the batch, then a few from earlier batches, without duplicates.
 */
export function personPrompts(
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
  return [...[...own.values()].slice(0, BATCH_PROMPTS), ...others.slice(0, EARLIER_PROMPTS)];
}

type Rows = readonly Float32Array[];

/** log p of each token of the answers, nats. An undefined adapter is the base. */
export function scoreAnswers(
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

function steerability(
  voice: Voice,
  adapter: TrainedWeights | undefined,
  write: (content: string) => readonly number[],
): number {
  const requests = steering.flatMap((wish) =>
    voice.gateRequests
      .slice(0, REQUESTS_PER_WISH)
      .map((text) => ({ wish, prompt: write(`${text} ${wishes[wish].hint}`) })),
  );
  const prompts = requests.map(({ prompt }) => prompt);
  const answers = voice.sample(adapter, { prompts, seed: 'wishes', tokens: WISHED_TOKENS });
  return mean(answers.map(({ ids }, index) => wishMet(requests[index]!.wish, readAnswer(voice, ids)) ?? 0));
}

const RUN = 4;

/** Share of an answer's runs of four tokens that occur earlier in it. */
export function repetitionOf(ids: readonly number[]): number {
  const runs = ids.slice(0, Math.max(0, ids.length - RUN + 1)).map((_, at) => ids.slice(at, at + RUN).join());
  return runs.length === 0 ? 0 : 1 - new Set(runs).size / runs.length;
}
