/** Standard normal quantile of a two-sided 95 % interval. */
const Z = 1.959963984540054;

export type Interval = { readonly low: number; readonly high: number };
export type Share = Interval & { readonly share: number; readonly good: number; readonly total: number };

/**
 * 95 % score interval of a share (Wilson, JASA 22, 1927). It stays within 0 and 1, and holds for few cases.
 * Without cases it is 0 to 1.
 */
export function wilson(good: number, total: number): Interval {
  if (total === 0) return { low: 0, high: 1 };
  const p = good / total;
  const z2 = Z * Z;
  const centre = (p + z2 / (2 * total)) / (1 + z2 / total);
  const half = (Z / (1 + z2 / total)) * Math.sqrt((p * (1 - p)) / total + z2 / (4 * total * total));
  return {
    low: good === 0 ? 0 : Math.max(0, centre - half),
    high: good === total ? 1 : Math.min(1, centre + half),
  };
}

export const shareOf = (good: number, total: number): Share => ({
  share: total === 0 ? 0 : good / total,
  good,
  total,
  ...wilson(good, total),
});

/** 95 % interval of `later - earlier` (Newcombe, Statistics in Medicine 17, 1998, method 10). */
export function difference(earlier: Share, later: Share): Interval {
  const d = later.share - earlier.share;
  const below = Math.hypot(later.share - later.low, earlier.high - earlier.share);
  const above = Math.hypot(later.high - later.share, earlier.share - earlier.low);
  return { low: Math.max(-1, d - below), high: Math.min(1, d + above) };
}

/** Fewest verdicts that a sentence compares, and fewest on each side. */
const ENOUGH = 20;
const ENOUGH_EACH = 10;

const percent = (share: number): string => `${Math.round(100 * share)} %`;
const points = (share: number): number => Math.round(100 * Math.abs(share));
const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/**
 * What the verdicts allow to say about learning, in plain words.
 *
 * @param base verdicts on answers of version 0
 * @param recent the latest verdicts on answers of later versions
 */
export function sayWhatIsKnown(base: Share, recent: Share): string {
  const all = base.total + recent.total;
  if (all === 0) return 'No verdicts yet. React to an answer as you would to a person.';
  if (all < ENOUGH) return `${plural(all, 'turn')}: too few to tell.`;
  if (recent.total === 0)
    return `${plural(all, 'turn')}, all answered by the base model: nothing to compare yet. ${percent(base.share)} were good.`;
  if (base.total < ENOUGH_EACH || recent.total < ENOUGH_EACH)
    return `${plural(base.total, 'turn')} of the base model and ${recent.total} of later versions: too few to compare.`;
  const { low, high } = difference(base, recent);
  const shares =
    `Of the last ${recent.total} answers with a verdict, ${percent(recent.share)} were good ` +
    `(${percent(recent.low)} to ${percent(recent.high)}); of ${base.total} answers of the base model, ${percent(base.share)}.`;
  if (low > 0) return `${shares} It is better by ${points(low)} to ${points(high)} points: more than chance.`;
  if (high < 0) return `${shares} It is worse by ${points(high)} to ${points(low)} points: more than chance.`;
  return `${shares} The difference may be chance: between ${points(low)} points worse and ${points(high)} points better.`;
}
