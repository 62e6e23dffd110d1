import {
  codeShare,
  endsWithQuestion,
  hasApology,
  hasClosing,
  hasEmoji,
  hasExample,
  hasGreeting,
  hasMarkdown,
  listLines,
  numberedLines,
  sentenceCount,
  wordsBesideCode,
} from './text-form.ts';
import type { WishKind } from './wishes.ts';

/** 0: not at all, 1: fully. @param reference usual length of answers, characters */
type Measure = (answer: string, reference: number) => number;

const few = (count: number, enough: number): number => Math.min(1, count / enough);
const not = (met: boolean): number => Number(!met);
const isEmpty = (answer: string): boolean => answer.trim() === '';
const length = (answer: string): number => answer.trim().length;

/** Two lines are a list; a single one may be a dash in a dialogue. */
const LIST_LINES = 2;
/** words outside code that count as an explanation */
const EXPLAINING_WORDS = 20;

const shorter: Measure = (answer, reference) => reference / (reference + length(answer));

const measures: Readonly<Partial<Record<WishKind, Measure>>> = {
  'no-list': (answer) => 1 - few(listLines(answer), LIST_LINES),
  list: (answer) => few(listLines(answer), LIST_LINES),
  steps: (answer) => few(numberedLines(answer), LIST_LINES),
  'no-greeting': (answer) => not(hasGreeting(answer)),
  greeting: (answer) => Number(hasGreeting(answer)),
  'no-closing': (answer) => not(hasClosing(answer)),
  closing: (answer) => Number(hasClosing(answer)),
  'one-sentence': (answer) => 1 / Math.max(1, sentenceCount(answer)),
  shorter,
  longer: (answer, reference) => 1 - shorter(answer, reference),
  'only-answer': (answer, reference) =>
    (not(hasGreeting(answer)) + not(hasClosing(answer)) + shorter(answer, reference)) / 3,
  'no-apology': (answer) => not(hasApology(answer)),
  'no-emoji': (answer) => not(hasEmoji(answer)),
  emoji: (answer) => Number(hasEmoji(answer)),
  'no-questions': (answer) => not(endsWithQuestion(answer)),
  'only-code': codeShare,
  'explain-code': (answer) => (codeShare(answer) === 0 ? 0 : few(wordsBesideCode(answer), EXPLAINING_WORDS)),
  example: (answer) => Number(hasExample(answer)),
  'no-markdown': (answer) => not(hasMarkdown(answer)),
};

/** characters of an answer, if the usual length is unknown */
const USUAL_LENGTH = 400;

/**
 * How far an answer meets a wish, 0 to 1, by its characters, not by meaning. An empty answer meets none.
 * Undefined for a wish that cannot be measured this way, such as a formal tone.
 *
 * @param reference length of the answers to compare with, characters
 */
export function wishMet(kind: WishKind, answer: string, reference = USUAL_LENGTH): number | undefined {
  const measure = measures[kind];
  if (measure === undefined) return undefined;
  return isEmpty(answer) ? 0 : measure(answer, Math.max(1, reference));
}

export const isMeasured = (kind: WishKind): boolean => measures[kind] !== undefined;
