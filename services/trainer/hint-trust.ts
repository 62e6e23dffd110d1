import type { PolicySequence } from '../../shared/policy/batching.ts';
import { withHint } from '../../shared/policy/hint.ts';
import { isMeasured, wishMet } from '../../shared/wishes/measure.ts';
import { probesFor } from '../../shared/wishes/probes.ts';
import { hintOf, type WishKind, wishes, wishesIn } from '../../shared/wishes/wishes.ts';
import { takesRequests } from './canaries.ts';
import type { LearningEngine, Voice } from './learning-engine.ts';

/** Answers with a hint, and without: so many, over the requests in turn. */
const ANSWERS = 24;
/** Tokens of an answer; most of what is asked for shows in its beginning. */
const TOKENS = 128;
/** Of the mean degree, at which a hint is seen to be read as meant, and as its contrary. */
const MOVES = 0.05;
const TURNS = -0.1;

/** These show at the end of an answer alone. */
const atTheEnd: ReadonlySet<WishKind> = new Set(['closing', 'no-closing', 'no-questions']);
const byLength: ReadonlySet<WishKind> = new Set(['shorter', 'longer', 'only-answer']);

/** How far a model meets a wish with its hint and without, mean degrees over the same requests. */
export type HintEffect = {
  readonly without: number;
  readonly with: number;
};
type Answers = { readonly texts: readonly string[]; readonly ended: number };

/** By engine, of its base: what a step does not change, so that a step stays a function of its input. */
const effects = new WeakMap<LearningEngine, Map<WishKind, HintEffect | undefined>>();
const plainAnswers = new WeakMap<LearningEngine, Map<string, Answers>>();

/**
 * What the hint of a known wish does to the base's answers. Sampled once per engine. Undefined: it cannot be
 * told, since the engine does not speak, no measure is known, or the answers are cut off before it shows.
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
  const requests = probesFor(kind) ?? voice.canaries;
  if (!takesRequests(engine, requests)) return undefined;
  const cached = plainAnswers.get(engine) ?? new Map<string, Answers>();
  plainAnswers.set(engine, cached);
  const about = requests.join('\n');
  const plain = cached.get(about) ?? ask(engine, voice, requests);
  cached.set(about, plain);
  const hinted = ask(engine, voice, requests, wishes[kind].hint);
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

/** The same seed with the hint and without, so that less of the difference is chance. */
function ask(engine: LearningEngine, voice: Voice, requests: readonly string[], hint?: string): Answers {
  const prompts = Array.from({ length: ANSWERS }, (_, index) =>
    promptOf(engine, requests[index % requests.length]!, hint),
  );
  const answers = voice.sample(undefined, { prompts, seed: 'hints', tokens: TOKENS });
  return {
    texts: answers.map(({ ids }) => voice.read(ids)),
    ended: mean(answers.map(({ ended }) => Number(ended))),
  };
}

/** In doubt the answer that was criticised has to tell. */
export type Reading = 'as-meant' | 'backwards' | 'in-doubt';

export const readingOf = (effect: HintEffect | undefined): Reading => {
  const change = effect === undefined ? 0 : effect.with - effect.without;
  return change >= MOVES ? 'as-meant' : change <= TURNS ? 'backwards' : 'in-doubt';
};

export type CheckedHint = {
  /** what is left of it to teach; absent: nothing */
  readonly hint?: string;
  /** wishes that were taken out */
  readonly backwards: number;
  readonly inDoubt: boolean;
};

/** A hint in the words of the table, without those wishes that the base reads as their contrary. */
export function checkKnownHint(engine: LearningEngine, hint: string): CheckedHint {
  const told = wishesIn(hint).map((kind) => ({ kind, reading: readingOf(hintEffect(engine, kind)) }));
  const left = told.filter(({ reading }) => reading !== 'backwards');
  return {
    ...(left.length === 0 ? {} : { hint: hintOf(left.map(({ kind }) => kind)) }),
    backwards: told.length - left.length,
    inDoubt: left.every(({ reading }) => reading === 'in-doubt'),
  };
}

/** Requests under which the base answers a hint in own words, and tokens of an answer. */
const CONTENT_ANSWERS = 12;
const CONTENT_TOKENS = 64;
/** Other requests that an answer might be to. */
const OTHERS = [1, 4, 7];
/** Of the mean probability of its own request; more is lost only where a hint is no instruction to the model. */
const MOST_LOST = 0.02;

/** Hints whose effect is remembered: they are people's own words. */
const MOST_REMEMBERED = 500;
const contents = new WeakMap<LearningEngine, Map<string, number>>();

/**
 * Whether the base still answers what it is asked where it reads a hint. A small model takes a sentence that it
 * does not understand for another request. Undefined: the engine does not speak.
 */
export function keepsContent(engine: LearningEngine, hint: string): boolean | undefined {
  const voice = engine.speech;
  const requests = voice?.canaries.slice(0, CONTENT_ANSWERS) ?? [];
  if (voice === undefined || !takesRequests(engine, requests)) return undefined;
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

/** How surely the base tells from an answer, without the hint, which request it is to; mean over answers. */
function contentUnder(engine: LearningEngine, voice: Voice, hint: string): number {
  const requests = voice.canaries.slice(0, CONTENT_ANSWERS);
  const plain = requests.map((request) => promptOf(engine, request));
  const answers = voice.sample(undefined, {
    prompts: hint === '' ? plain : requests.map((request) => promptOf(engine, request, hint)),
    ...{ seed: 'content', tokens: CONTENT_TOKENS },
  });
  const under = (shift: number) =>
    answers.map(
      ({ ids: responseIds, temperature }, index): PolicySequence => ({
        ...{ promptIds: plain[(index + shift) % plain.length]!, responseIds, temperature },
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
  return engine.writePrompt({ messages: hinted, tools: [], variables: {} });
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
