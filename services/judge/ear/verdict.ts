import { hintOf, type WishKind, wishes, wishKinds } from '../../../shared/wishes/wishes.ts';
import { SHORT_HINT } from '../tally.ts';
import type { Heard } from './model.ts';
import type { Thresholds } from './read-ear.ts';

/** Longest hint. Characters. */
const HINT_LIMIT = 1000;
/** Beside praise, as much complaint as this makes it no praise. */
const MOST_BAD_BESIDE_GOOD = 0.12;

/** -1, 1, or 0 where the ear is not sure. `ruled`: what the rules say of the same words. */
export function verdictOfEar(heard: Heard, ruled: -1 | 0 | 1, thresholds: Thresholds): -1 | 0 | 1 {
  const { bad, good } = heard;
  if (bad >= (ruled === -1 ? thresholds.badWithRule : thresholds.bad)) return -1;
  if (ruled === -1 || bad > MOST_BAD_BESIDE_GOOD || goesOn(heard)) return 0;
  return good >= (ruled === 1 ? thresholds.goodWithRule : thresholds.good) ? 1 : 0;
}

/** What was left out behind "great:" may turn it round. */
const goesOn = ({ sentences }: Heard): boolean => /[:：,，]$/.test(sentences.at(-1)?.sentence ?? '');

/** The kinds of wishes that are sure enough. Of two that exclude each other, the surer one. */
export function wishesHeard({ wishes: sure }: Heard, least: number): readonly WishKind[] {
  const kinds = wishKinds.filter((kind) => sure[kind] >= least).sort((a, b) => sure[b] - sure[a]);
  const kept: WishKind[] = [];
  for (const kind of kinds) {
    const against: readonly string[] = wishes[kind].against;
    if (
      !kept.some((one) => against.includes(one) || (wishes[one].against as readonly string[]).includes(kind))
    )
      kept.push(kind);
  }
  return kept;
}

/** The wish in a form that a model reads well; else the sentence that states it; else nothing. */
export function hintHeard(heard: Heard, thresholds: Thresholds): string | undefined {
  const kinds = wishesHeard(heard, thresholds.kind);
  if (kinds.length > 0) return hintOf(kinds);
  if (heard.wish < thresholds.wish) return undefined;
  const [first] = [...heard.sentences].sort((a, b) => b.wish - a.wish);
  const hint = first?.sentence.slice(0, HINT_LIMIT);
  return hint !== undefined && hint.length > SHORT_HINT ? hint : undefined;
}
