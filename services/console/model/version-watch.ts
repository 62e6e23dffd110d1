import { z } from 'zod';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import type { VerdictRecorded } from '../../../shared/events/verdict-recorded.ts';
import { addTally, noTurns, type Tally } from '../../../shared/lineage/evidence.ts';
import { type Canary, openHead, viewOf } from '../../../shared/lineage/head.ts';
import { headState } from '../../../shared/lineage/head-state.ts';
import {
  type CountedOf,
  type CountedVersion,
  newVersion,
  oldestWatched,
  stretchAfter,
  watchedVersions,
} from '../../../shared/lineage/watched-versions.ts';
import type { InputEvent } from '../../../shared/log/fold.ts';
import { memoryRows, openDraft } from '../../../shared/log/rows.ts';
import { settledIds } from '../../../shared/log/settled-ids.ts';
import { isChangeOfMind } from '../../../shared/wishes/changes-of-mind.ts';

/**
 * Counts verdicts as `services/collector/verdict-watch.ts` and `canary.ts` do, to show what those folds know before
 * they decide. test/chaos/histories/version-watch.test.ts compares the numbers with those of each decision.
 */

export type RunningCanary = {
  readonly canary: Canary;
  /** ms since 1970 */
  readonly since: number;
  readonly parent: Tally;
  readonly candidate: Tally;
};

const tally = z.object({ turns: z.int(), bad: z.int() });

/** The state of a watch that was stored. */
export const versionWatchState = z.object({
  /** of the folds' own tables */
  rows: z.array(z.tuple([z.string(), z.unknown()])),
  counted: z.array(z.tuple([z.int(), tally.extend({ stretch: z.int(), since: z.int() })])),
  head: headState,
  running: z
    .object({ canary: PolicyCanaryStarted.schema, since: z.number(), parent: tally, candidate: tally })
    .optional(),
  first: z.int(),
});
type VersionWatchState = z.output<typeof versionWatchState>;

/** The verdicts on the versions of one adapter. */
export function createVersionWatch(from?: VersionWatchState) {
  const rows = memoryRows(from?.rows);
  const counted = new Map<number, CountedVersion>(from?.counted);
  const lineage = openHead(from?.head);
  let running: RunningCanary | undefined = from?.running;
  /** First version that is watched: later than the last choice of a head, and no older than the log promises. */
  let first = from?.first ?? 0;
  const of: CountedOf = (version) => counted.get(version) ?? newVersion(version);

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
    if (lineage.state().head !== to || of(to).since !== to) return;
    const view = viewOf(lineage.state());
    counted.set(to, { ...of(to), ...stretchAfter(view, { from, to }, of) });
    first = Math.max(first, oldestWatched(view, to));
  };
  const on = (event: ClawLoopEvent, recorded: number): void => {
    const isCopy = lineage.state().commands[event.id] === true;
    lineage.on(event);
    const head = lineage.state();
    if (isCopy) return;
    if (event.type === 'verdict.recorded') count({ ...event, recorded });
    if (event.type === 'policy.promoted') startStretch(event.data.from, event.data.to);
    if (event.type === 'policy.rolled-back' && head.head === event.data.to)
      first = Math.max(first, head.n + 1);
    const canary = head.canary ?? undefined;
    if (canary?.batchId !== running?.canary.batchId)
      running = canary && { canary, since: recorded, parent: noTurns, candidate: noTurns };
  };
  const watched = () => watchedVersions(viewOf(lineage.state()), first, of);
  const state = (): VersionWatchState => ({
    rows: rows.entries('').map(([key, row]) => [key, row]),
    counted: [...counted],
    head: { ...lineage.state(), canary: lineage.state().canary ?? null },
    running,
    first,
  });
  return { on, watched, canary: (): RunningCanary | undefined => running, state };
}
