import { addTally, evidenceOfWorse, noTurns, type Tally } from './evidence.ts';
import { type HeadView, lineage } from './head.ts';

/**
 * Each promotion of the served lineage is watched until it is `WATCHED_STEPS` steps or `MOST_TURNS` verdicts old. One
 * person gives a version only a few verdicts before the next one is promoted, so its successors count, too: if they
 * cured the fault, their verdicts show it.
 */

/** Promotions of the served lineage that are watched. The trainer keeps their checkpoints. */
const WATCHED_STEPS = 8;
/** Verdicts after which a version has proved itself. */
const MOST_TURNS = 100;
/** Verdicts, or versions, of a stretch of the lineage. A version is compared with the stretch before its own, and the start of its own. */
const STRETCH = 30;
const LONGEST_STRETCH = 64;

/**
 * The verdicts on a version. The stretches start at a promotion, never at a place that later verdicts choose:
 * otherwise the test would not be valid.
 */
export type CountedVersion = Tally & {
  /** version with which its stretch starts */
  readonly stretch: number;
  /** version with which the stretch before starts: the oldest that it is compared with */
  readonly since: number;
};

export const newVersion = (version: number): CountedVersion => ({
  ...noTurns,
  stretch: version,
  since: version,
});

export type CountedOf = (version: number) => CountedVersion;

type ServedLineage = Pick<HeadView, 'head' | 'version'>;

/** A promotion and the verdicts on both sides of it. */
export type WatchedVersion = {
  readonly version: number;
  /** version that was served before it */
  readonly parent: number;
  /** oldest version compared with */
  readonly since: number;
  readonly before: Tally;
  /** on this version and those trained from it */
  readonly after: Tally;
};

const parentIn = ({ version }: ServedLineage, n: number): number | null => version(n)?.parent ?? null;

/** Newest first. @param first no older version is watched */
export function watchedVersions(
  view: ServedLineage,
  first: number,
  of: CountedOf,
): readonly WatchedVersion[] {
  const watched: Omit<WatchedVersion, 'before'>[] = [];
  let after = noTurns;
  let at = view.head;
  for (let step = 0; step < WATCHED_STEPS; step++) {
    const parent = parentIn(view, at);
    const { since } = of(at);
    after = addTally(after, of(at));
    if (parent === null || at < first || after.turns > MOST_TURNS) break;
    if (since < at) watched.push({ version: at, parent, since, after });
    at = parent;
  }
  if (watched.length === 0) return [];
  // verdicts on each version and on all versions after it, up to the head
  const upToHead = new Map<number, Tally>();
  const oldest = Math.min(...watched.map(({ since }) => since));
  let sum = noTurns;
  for (let version: number | null = view.head; version !== null && version >= oldest; ) {
    sum = addTally(sum, of(version));
    upToHead.set(version, sum);
    version = parentIn(view, version);
  }
  return watched.map((one) => {
    const whole = upToHead.get(one.since) ?? sum;
    const before = { turns: whole.turns - one.after.turns, bad: whole.bad - one.after.bad };
    return { ...one, before };
  });
}

/** The stretch of a version that was promoted from another: that one's own, or a new one after a whole stretch. */
export function stretchAfter(
  view: ServedLineage,
  { from, to }: { readonly from: number; readonly to: number },
  of: CountedOf,
): Pick<CountedVersion, 'stretch' | 'since'> {
  const { stretch, since } = of(from);
  let [turns, steps, at] = [0, 0, from];
  for (;;) {
    turns += of(at).turns;
    steps += 1;
    const next = parentIn(view, at);
    if (at === stretch || next === null) break;
    at = next;
  }
  const isWhole = turns >= STRETCH || steps >= LONGEST_STRETCH;
  return isWhole ? { stretch: to, since: stretch } : { stretch, since };
}

/** Oldest version that is watched once a version is served: a rollback brings back no older one. */
export const oldestWatched = (view: Parameters<typeof lineage>[0], version: number): number =>
  lineage(view, version).at(WATCHED_STEPS - 1) ?? 0;

/**
 * Evidence that a candidate on canary is worse than its parent, and that it is not worse by the margin. The second is
 * the first with the versions exchanged: that the parent's rate is above the candidate's less the margin.
 */
export const canaryEvidence = (
  { parent, candidate }: { readonly parent: Tally; readonly candidate: Tally },
  margin: number,
) => ({
  worse: evidenceOfWorse({ before: parent, after: candidate, margin: 0 }),
  notWorse: evidenceOfWorse({ before: candidate, after: parent, margin: -margin }),
});
