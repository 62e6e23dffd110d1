import { hintOf, type WishKind, wishes, wishKinds } from '../../../shared/wishes/wishes.ts';
import { SHORT_HINT } from '../tally.ts';
import type { Heard } from './model.ts';
import type { Thresholds } from './read-ear.ts';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;
/** Limit of the probability of a complaint in a message that counts as praise. */
const MOST_BAD_BESIDE_GOOD = 0.12;
/** 1,235 of 1,285 complaints in the corpora are no longer, and most prompts of programs are longer. Characters. */
const LONGEST_USUAL_COMPLAINT = 120;
/** Sarcasm begins like praise and goes on. Characters. */
const LONGEST_PLAIN_PRAISE = 45;

/** A message as the ear and the rules read it. */
export type MessageRead = {
  readonly heard: Heard;
  /** the verdict of the rules on the same words */
  readonly bySignals: -1 | 0 | 1;
  /** of the whole message, with quotes and code. Characters */
  readonly length: number;
};

/** The verdict; 0 if the ear is unsure. */
export function verdictOfEar({ heard, bySignals, length }: MessageRead, thresholds: Thresholds): -1 | 0 | 1 {
  const { bad, good } = heard;
  const usual = length <= LONGEST_USUAL_COMPLAINT ? thresholds.bad : thresholds.badInLongText;
  if (bad >= (bySignals === -1 ? thresholds.badWithRule : usual)) return -1;
  if (bySignals === -1 || bad > MOST_BAD_BESIDE_GOOD || goesOn(heard)) return 0;
  return good >= (length <= LONGEST_PLAIN_PRAISE ? thresholds.good : thresholds.goodInLongText) ? 1 : 0;
}

/** A text that was cut behind "great:" may continue with a complaint. */
const goesOn = ({ sentences }: Heard): boolean => /[:：,，]$/.test(sentences.at(-1)?.sentence ?? '');

/** The wishes above a probability. Of two that contradict each other, the more probable one. */
export function wishesHeard({ wishes: probabilities }: Heard, least: number): readonly WishKind[] {
  const kinds = wishKinds
    .filter((kind) => probabilities[kind] >= least)
    .sort((a, b) => probabilities[b] - probabilities[a]);
  const kept: WishKind[] = [];
  for (const kind of kinds) {
    const against: readonly string[] = wishes[kind].against;
    if (
      !kept.some(
        (other) => against.includes(other) || (wishes[other].against as readonly string[]).includes(kind),
      )
    )
      kept.push(kind);
  }
  return kept;
}

/** The standard text of the wishes; else the sentence that states a wish; else undefined. */
export function hintHeard(heard: Heard, thresholds: Thresholds): string | undefined {
  const kinds = wishesHeard(heard, thresholds.kind);
  if (kinds.length > 0) return hintOf(kinds);
  if (heard.wish < thresholds.wish) return undefined;
  const [first] = [...heard.sentences].sort((a, b) => b.wish - a.wish);
  const hint = first?.sentence.slice(0, HINT_LIMIT);
  return hint !== undefined && hint.length > SHORT_HINT ? hint : undefined;
}
