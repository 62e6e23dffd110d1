import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { VerdictRecorded } from '../../../shared/events/verdict-recorded.ts';
import { addTally, evidenceOfWorse, noTurns, type Tally } from '../../../shared/lineage/evidence.ts';
import {
  applyHead,
  type Canary,
  type HeadState,
  initialHead,
  lineage,
  viewOf,
} from '../../../shared/lineage/head.ts';
import type { InputEvent } from '../../../shared/log/fold.ts';
import { memoryRows, openDraft } from '../../../shared/log/rows.ts';
import { settledIds } from '../../../shared/log/settled-ids.ts';
import { isChangeOfMind } from '../../../shared/wishes/changes-of-mind.ts';

/**
 * Counts verdicts as `services/collector/verdict-watch.ts` and `canary.ts` do, to show what those folds know before
 * they decide. test/chaos/histories/version-watch.test.ts compares the numbers with those of each decision.
 */

/** A promotion and the verdicts on both sides of it. */
export type WatchedVersion = {
  readonly version: number;
  /** oldest version compared with */
  readonly since: number;
  readonly before: Tally;
  /** on this version and those trained from it */
  readonly after: Tally;
};

export type RunningCanary = {
  readonly canary: Canary;
  /** ms since 1970 */
  readonly since: number;
  readonly parent: Tally;
  readonly candidate: Tally;
};

type Counted = Tally & { readonly stretch: number; readonly since: number };

/** As in the collector: its decision names the same numbers. */
const WATCHED_STEPS = 8;
const MOST_TURNS = 100;
const STRETCH = 30;
const LONGEST_STRETCH = 64;

const fresh = (version: number): Counted => ({ ...noTurns, stretch: version, since: version });

/** The verdicts on the versions of one adapter. */
export function createVersionWatch() {
  const rows = memoryRows();
  const counted = new Map<number, Counted>();
  let head: HeadState = initialHead;
  let running: RunningCanary | undefined;
  /** First version that is watched: later than the last choice of a head, and no older than the log promises. */
  let first = 0;
  const of = (version: number) => counted.get(version) ?? fresh(version);

  const isCounted = (event: VerdictRecorded & InputEvent): boolean => {
    const draft = openDraft(rows);
    const known = settledIds(draft);
    if (known.has(event.data.turnId)) return false;
    known.add(event.data.turnId, event);
    const counts = !isChangeOfMind(draft, event.data);
    rows.apply(draft.changes());
    return counts;
  };
  const count = (event: VerdictRecorded & InputEvent): void => {
    if (!isCounted(event)) return;
    const { version, score } = event.data;
    const one = { turns: 1, bad: score < 0 ? 1 : 0 };
    counted.set(version, { ...of(version), ...addTally(of(version), one) });
    if (running === undefined) return;
    const { canary, parent, candidate } = running;
    if (version === canary.to) running = { ...running, candidate: addTally(candidate, one) };
    if (version === canary.from) running = { ...running, parent: addTally(parent, one) };
  };
  const startStretch = (from: number, to: number): void => {
    if (head.head !== to || of(to).since !== to) return;
    const parent = of(from);
    let [turns, steps, at] = [0, 0, from];
    for (;;) {
      turns += of(at).turns;
      steps += 1;
      const next = parentIn(head, at);
      if (at === parent.stretch || next === null) break;
      at = next;
    }
    const isWhole = turns >= STRETCH || steps >= LONGEST_STRETCH;
    const { stretch, since } = isWhole ? { stretch: to, since: parent.stretch } : parent;
    counted.set(to, { ...of(to), stretch, since });
    first = Math.max(first, lineage(viewOf(head), to).at(WATCHED_STEPS - 1) ?? 0);
  };
  const on = (event: ClawLoopEvent, recorded: number): void => {
    const isCopy = head.commands[event.id] === true;
    head = applyHead(head, event);
    if (isCopy) return;
    if (event.type === 'verdict.recorded') count({ ...event, recorded });
    if (event.type === 'policy.promoted') startStretch(event.data.from, event.data.to);
    if (event.type === 'policy.rolled-back' && head.head === event.data.to)
      first = Math.max(first, head.n + 1);
    const canary = head.canary ?? undefined;
    if (canary?.batchId !== running?.canary.batchId)
      running = canary && { canary, since: recorded, parent: noTurns, candidate: noTurns };
  };
  const watched = () => watchedVersions(head, first, of);
  return { on, watched, canary: (): RunningCanary | undefined => running };
}

type Lineage = Pick<HeadState, 'head' | 'versions'>;
type CountedOf = (version: number) => Counted;

const parentIn = ({ versions }: Lineage, version: number): number | null => versions[version]?.parent ?? null;
const tallyOf = ({ turns, bad }: Tally): Tally => ({ turns, bad });

/** Newest first. @param first no older version is watched */
function watchedVersions(lineage: Lineage, first: number, of: CountedOf): readonly WatchedVersion[] {
  const found: WatchedVersion[] = [];
  let after = noTurns;
  let at = lineage.head;
  for (let step = 0; step < WATCHED_STEPS; step++) {
    const parent = parentIn(lineage, at);
    const { since } = of(at);
    after = addTally(after, tallyOf(of(at)));
    if (parent === null || at < first || after.turns > MOST_TURNS) break;
    if (since < at) found.push({ version: at, since, before: tallyBetween(lineage, since, at, of), after });
    at = parent;
  }
  return found;
}

/** Verdicts on the versions of the lineage from `since` up to the parent of `version`. */
function tallyBetween(lineage: Lineage, since: number, version: number, of: CountedOf): Tally {
  let sum = noTurns;
  for (let at = parentIn(lineage, version); at !== null && at >= since; at = parentIn(lineage, at))
    sum = addTally(sum, tallyOf(of(at)));
  return sum;
}

/** Evidence that a watched version is worse; 1 / alpha rolls it back. */
export const evidenceAgainst = ({ before, after }: WatchedVersion, margin: number): number =>
  evidenceOfWorse({ before, after, margin });

/** Evidence that a candidate is worse, and that it is not worse by the margin. 1 / alpha of either ends the canary. */
export const evidenceOfCanary = ({ parent, candidate }: RunningCanary, margin: number) => ({
  worse: evidenceOfWorse({ before: parent, after: candidate, margin: 0 }),
  notWorse: evidenceOfWorse({ before: candidate, after: parent, margin: -margin }),
});
