import { defined } from '../../shared/lang/defined.ts';
import { mean } from '../../shared/lang/numbers.ts';
import { withHint } from '../../shared/policy/text/hint.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { isMeasured, wishMet } from '../../shared/wishes/measure.ts';
import { hintOf, type WishKind, wishes, wishesIn } from '../../shared/wishes/wishes.ts';
import { canAnswer } from './answer-figures.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';
import { readAnswer, requestPrompt } from './own-requests.ts';

/** Number of answers with the hint, and without, over the requests in rotation. */
const ANSWERS = 24;
/** Tokens per answer; most wishes show in its beginning. */
const TOKENS = 128;
/** Change of the mean degree from which on a hint counts as read correctly, and as read as its opposite. */
const MOVES = 0.05;
const TURNS = -0.1;

/** Requests for code, for wishes that only apply to code. */
const forCode: readonly string[] = [
  'Write a Python function that reverses a string.',
  'How do I sort an array of numbers in JavaScript?',
  'Show me a SQL query that counts orders per customer.',
  'Write a shell command that finds large files.',
];

/** Requests that show whether a model follows a hint; undefined: any request. */
const probesFor = (kind: WishKind): readonly string[] | undefined =>
  kind === 'only-code' || kind === 'explain-code' ? forCode : undefined;

/** Wishes that show only at the end of an answer. */
const atTheEnd: ReadonlySet<WishKind> = new Set(['closing', 'no-closing', 'no-questions']);
const byLength: ReadonlySet<WishKind> = new Set(['shorter', 'longer', 'only-answer']);

/** Degree to which a model meets a wish with its hint and without, means over the same requests. */
type HintEffect = {
  readonly without: number;
  readonly with: number;
};
type Answers = { readonly texts: readonly string[]; readonly ended: number };

/** By engine, for its base, which steps do not change. A step therefore stays a function of its input. */
const effects = new WeakMap<LearningEngine, Map<WishKind, HintEffect | undefined>>();
const plainAnswers = new WeakMap<LearningEngine, Map<string, Answers>>();

/**
 * The effect of a known wish's hint on the base's answers, sampled once per engine. Undefined: it cannot be
 * measured, because the engine cannot answer, there is no measure, or the answers are cut off too early.
 */
export function hintEffect(engine: LearningEngine, kind: WishKind): HintEffect | undefined {
  const known = effects.get(engine) ?? new Map<WishKind, HintEffect | undefined>();
  effects.set(engine, known);
  if (!known.has(kind)) known.set(kind, measureEffect(engine, kind));
  return known.get(kind);
}

function measureEffect(engine: LearningEngine, kind: WishKind): HintEffect | undefined {
  const voice = engine.speech;
  if (voice === undefined || !isMeasured(kind)) return undefined;
  const requests = probesFor(kind) ?? voice.gateRequests;
  if (!canAnswer(engine, requests)) return undefined;
  const cached = plainAnswers.get(engine) ?? new Map<string, Answers>();
  plainAnswers.set(engine, cached);
  const about = requests.join('\n');
  const plain = cached.get(about) ?? sampleAnswersTo(engine, voice, requests);
  cached.set(about, plain);
  const hinted = sampleAnswersTo(engine, voice, requests, wishes[kind].hint);
  const shown = atTheEnd.has(kind)
    ? Math.min(plain.ended, hinted.ended)
    : byLength.has(kind)
      ? Math.max(plain.ended, hinted.ended)
      : 1;
  if (shown < 0.5) return undefined;
  const length = mean(plain.texts.map((text) => text.trim().length));
  const degree = ({ texts }: Answers) => mean(texts.map((text) => wishMet(kind, text, length)!));
  return { without: degree(plain), with: degree(hinted) };
}

/** Uses the same seed with and without the hint, which reduces chance differences. */
function sampleAnswersTo(
  engine: LearningEngine,
  voice: Voice,
  requests: readonly string[],
  hint?: string,
): Answers {
  const prompts = Array.from({ length: ANSWERS }, (_, index) =>
    promptOf(engine, requests[index % requests.length]!, hint),
  );
  const answers = voice.sample(undefined, { prompts, seed: 'hints', tokens: TOKENS });
  return {
    texts: answers.map(({ ids }) => readAnswer(voice, ids)),
    ended: mean(answers.map(({ ended }) => Number(ended))),
  };
}

/** How the base reads a hint. If in doubt, the criticised answer decides. */
type Reading = 'as-meant' | 'backwards' | 'in-doubt';

export const readingOf = (effect: HintEffect | undefined): Reading => {
  const change = effect === undefined ? 0 : effect.with - effect.without;
  return change >= MOVES ? 'as-meant' : change <= TURNS ? 'backwards' : 'in-doubt';
};

type CheckedHint = {
  /** the part that teaches; absent: nothing */
  readonly hint?: string;
  /** number of wishes that were removed */
  readonly backwards: number;
  readonly inDoubt: boolean;
};

/** Removes the wishes that the base reads as their opposite from a hint of known wishes. */
export function checkKnownHint(engine: LearningEngine, hint: string): CheckedHint {
  const readings = wishesIn(hint).map((kind) => ({ kind, reading: readingOf(hintEffect(engine, kind)) }));
  const left = readings.filter(({ reading }) => reading !== 'backwards');
  return {
    ...defined({ hint: left.length === 0 ? undefined : hintOf(left.map(({ kind }) => kind)) }),
    backwards: readings.length - left.length,
    inDoubt: left.every(({ reading }) => reading === 'in-doubt'),
  };
}

/** Number of requests with which a free-form hint is tested, and tokens per answer. */
const CONTENT_ANSWERS = 12;
const CONTENT_TOKENS = 64;
/** Offsets of the other requests that an answer is compared with. */
const OTHERS = [1, 4, 7];
/**
 * Allowed loss of the mean probability of the answered request; a hint that loses more is not read as an
 * instruction.
 */
const MOST_LOST = 0.02;

/** Most free-form hints whose effect is cached. */
const MOST_REMEMBERED = 500;
const contents = new WeakMap<LearningEngine, Map<string, number>>();

/**
 * Whether the base still answers the request when it reads a hint. A small model takes a sentence that it does
 * not understand for another request. Undefined: the engine cannot answer.
 */
export function keepsContent(engine: LearningEngine, hint: string): boolean | undefined {
  const voice = engine.speech;
  const requests = voice?.gateRequests.slice(0, CONTENT_ANSWERS) ?? [];
  if (voice === undefined || !canAnswer(engine, requests)) return undefined;
  const fits = (request: string) =>
    promptOf(engine, request, hint).length + CONTENT_TOKENS <= engine.contextTokens;
  if (!requests.every(fits)) return false;
  const known = contents.get(engine) ?? new Map<string, number>();
  contents.set(engine, known);
  const contentOf = (words: string): number => {
    const content = known.get(words) ?? contentUnder(engine, voice, words);
    if (known.size >= MOST_REMEMBERED) known.clear();
    known.set(words, content);
    return content;
  };
  return contentOf(hint) >= contentOf('') - MOST_LOST;
}

/** Probability with which the base recognises the answered request without the hint, mean over answers. */
function contentUnder(engine: LearningEngine, voice: Voice, hint: string): number {
  const requests = voice.gateRequests.slice(0, CONTENT_ANSWERS);
  const plain = requests.map((request) => promptOf(engine, request));
  const answers = voice.sample(undefined, {
    prompts: hint === '' ? plain : requests.map((request) => promptOf(engine, request, hint)),
    seed: 'content',
    tokens: CONTENT_TOKENS,
  });
  const under = (shift: number) =>
    answers.map(
      ({ ids: responseIds, temperature }, index): PolicySequence => ({
        promptIds: plain[(index + shift) % plain.length]!,
        responseIds,
        temperature,
      }),
    );
  const [own, ...others] = [0, ...OTHERS].map((shift) => scores(engine, under(shift)));
  return mean(
    own!.map((here, index) => 1 / (1 + others.reduce((sum, row) => sum + Math.exp(row[index]! - here), 0))),
  );
}

/** log p of each answer under the base, nats */
function scores(engine: LearningEngine, sequences: readonly PolicySequence[]): readonly number[] {
  const sums: number[] = [];
  for (const members of engine.parts(sequences)) {
    const rows = engine.score(
      undefined,
      members.map((index) => sequences[index]!),
    );
    members.forEach((index, member) => {
      sums[index] = rows[member]!.reduce((sum, logProb) => sum + logProb, 0);
    });
  }
  return sums;
}

function promptOf(engine: LearningEngine, request: string, hint?: string): readonly number[] {
  const messages = [{ role: 'user', content: request } as const];
  const hinted = hint === undefined ? messages : withHint(messages, 0, hint);
  return requestPrompt(engine, hinted);
}
