import { wishKinds } from '../../../shared/wishes/wishes.ts';
import { encoderColumns } from './encoder/read-encoder.ts';
import { unitsOf } from './features.ts';
import { type Heard, hear, sigmoid, softMaximum } from './model.ts';
import type { OpenEar } from './open-ear.ts';
import type { Thresholds } from './read-ear.ts';
import { thresholdsOfBoth } from './thresholds.ts';

/** Weight of the traits beside the encoder, in logits. */
const TRAITS = 0.5;
/**
 * If the traits find both a complaint and praise less probable than this, the encoder is not asked, which takes sixty
 * times as long. Most messages say nothing about the answer.
 */
const LEAST = 0.25;
/** Letters of scripts that neither reader has learned. */
const otherScript = /(?![\p{scx=Latin}\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}])\p{L}/u;
/** Least logit of the encoder's opinion that a text is English. */
const ENGLISH = 1;

const columnOf = Object.fromEntries(encoderColumns.map((name, column) => [name, column]));

export type HeardWords = {
  readonly heard: Heard;
  /** of the readers that heard it */
  readonly thresholds: Thresholds;
};

/** What the two readers hear in a person's words; undefined: there are no words. */
export function hearWords({ traits, encoder, thresholds }: OpenEar, words: string): HeardWords | undefined {
  const heard = hear(traits, unitsOf(words));
  if (heard === undefined) return undefined;
  const isPlain = heard.bad < LEAST && heard.good < LEAST;
  const scores = isPlain || otherScript.test(words) ? undefined : encoder.read(words);
  if (scores === undefined) return { heard, thresholds };
  const isEnglish = scores[columnOf.english!]! >= ENGLISH;
  return { heard: blend(heard, scores), thresholds: thresholdsOfBoth[isEnglish ? 'english' : 'others'] };
}

function blend(heard: Heard, scores: Float32Array): Heard {
  const score = (name: string): number => scores[columnOf[name]!]!;
  const verdicts = ['bad', 'good', 'neither'] as const;
  const against = (name: (typeof verdicts)[number]): number =>
    softMaximum(verdicts.filter((other) => other !== name).map(score));
  const mixed = (probability: number, logit: number): number =>
    sigmoid(TRAITS * logitOf(probability) + (1 - TRAITS) * logit);
  const wishes = { ...heard.wishes };
  for (const kind of wishKinds) wishes[kind] = mixed(heard.wishes[kind], score(kind));
  return {
    ...heard,
    bad: mixed(heard.bad, score('bad') - against('bad')),
    good: mixed(heard.good, score('good') - against('good')),
    wishes,
    wish: mixed(heard.wish, score('wish')),
  };
}

/** Of a probability, kept away from 0 and 1. */
const logitOf = (probability: number): number => {
  const bounded = Math.min(Math.max(probability, 1e-6), 1 - 1e-6);
  return Math.log(bounded / (1 - bounded));
};
