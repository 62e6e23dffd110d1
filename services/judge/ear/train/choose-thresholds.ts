import { lexicalEvidence, weigh } from '../../judges/signals/evidence.ts';
import type { Thresholds } from '../read-ear.ts';
import { type Judged, thresholdFor } from './evaluate.ts';

/** Shares of verdicts that must be right, on messages that are meant to mislead. */
const LEAST = { bad: 0.92, badWithRule: 0.9, good: 0.94, kind: 0.83 };
/** A threshold nearer to 1 than this hangs on a handful of messages. */
const HIGHEST = 0.985;

/** A rule alone is no verdict. */
const LOWEST = 0.5;
/** Share of sarcastic messages that may pass for praise. */
const MOST_SARCASM = 0.02;

/** The lowest thresholds that keep to these shares on messages that did not train the scores. */
export function chooseThresholds(judged: readonly Judged[]): Thresholds {
  const ruled = (sign: -1 | 1) => judged.filter(({ row }) => weigh(lexicalEvidence(row.text)) === sign);
  const bad = Math.min(HIGHEST, thresholdFor(judged, 'bad', LEAST.bad));
  const good = Math.min(HIGHEST, Math.max(thresholdFor(judged, 'good', LEAST.good), aboveSarcasm(judged)));
  const round = (value: number) => Number(value.toFixed(4));
  return {
    bad: round(bad),
    good: round(good),
    badWithRule: round(Math.max(LOWEST, Math.min(bad, thresholdFor(ruled(-1), 'bad', LEAST.badWithRule)))),
    goodWithRule: round(good),
    kind: round(kindThreshold(judged)),
    wish: 0.8,
  };
}

/** The lowest score of praise that hardly any sarcastic message has. */
function aboveSarcasm(judged: readonly Judged[]): number {
  const scores = judged
    .flatMap(({ row, heard }) =>
      row.label === 'bad' && row.style === 'sarcastic' && heard !== undefined ? [heard.good] : [],
    )
    .sort((a, b) => b - a);
  return (scores[Math.floor(MOST_SARCASM * scores.length)] ?? 0) + 1e-4;
}

/** The lowest probability of a kind of wish at which as many as LEAST say are right, among complaints. */
function kindThreshold(judged: readonly Judged[]): number {
  const scored = judged
    .filter(({ row, heard }) => row.label === 'bad' && heard !== undefined)
    .flatMap(({ row, heard }) =>
      Object.entries(heard!.wishes).map(([kind, score]) => ({
        score,
        right: (row.wishes as readonly string[]).includes(kind),
      })),
    )
    .sort((a, b) => b.score - a.score);
  let right = 0;
  let threshold = 0.9;
  for (const [index, one] of scored.entries()) {
    if (one.right) right += 1;
    if (right / (index + 1) >= LEAST.kind) threshold = one.score;
  }
  return Math.max(0.4, threshold);
}
