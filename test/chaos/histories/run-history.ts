import { type HistoryFold, theFolds } from './folds.ts';
import { canariesEndOnce, sessionsKeepTheirVersion } from './laws/canary.ts';
import { bodiesAreTheirOwn, emittedOnce, everyTurnEndsOnce, nothingIsLost } from './laws/conservation.ts';
import { deletedStaysOut } from './laws/deletion.ts';
import { earlyFeedbackDecides, feedbackDecides, lastThumbStands } from './laws/feedback.ts';
import { type Law, readHistory } from './laws/history.ts';
import { lineageHolds } from './laws/lineage.ts';
import { rebuildIsTheSame } from './laws/rebuild.ts';
import { returnsFollowTheTree } from './laws/returns.ts';
import { explicitSessionsAreKept, keysStayApart, oldTimersEndNothing } from './laws/sessions.ts';
import { rewardedSessionsStayWhole } from './laws/whole-sessions.ts';
import { openThings, quiesce, tick } from './scheduler.ts';
import { createWorld, type World, type WorldFault } from './world.ts';

export const laws: Readonly<Record<string, Law>> = {
  nothingIsLost,
  emittedOnce,
  everyTurnEndsOnce,
  bodiesAreTheirOwn,
  lineageHolds,
  canariesEndOnce,
  sessionsKeepTheirVersion,
  rebuildIsTheSame,
  oldTimersEndNothing,
  keysStayApart,
  explicitSessionsAreKept,
  feedbackDecides,
  earlyFeedbackDecides,
  lastThumbStands,
  returnsFollowTheTree,
  deletedStaysOut,
  rewardedSessionsStayWhole,
};

export type HistoryOptions = {
  readonly steps?: number;
  readonly folds?: readonly HistoryFold[];
  readonly faults?: ReadonlySet<WorldFault>;
};

/** Runs the history of a seed to its end. The same seed gives the same history; returns what it broke. */
export function runHistory(
  seed: number,
  { steps = 900, folds = theFolds, faults = new Set() }: HistoryOptions = {},
): { readonly world: World; readonly broken: readonly string[] } {
  const world = createWorld(seed, folds, faults);
  for (let i = 0; i < steps; i++) tick(world);
  const ended = quiesce(world);
  const history = readHistory(world);
  const broken = Object.entries(laws).flatMap(([name, law]) =>
    law(history).map((what) => `${name}: ${what}`),
  );
  const stuck = ended ? [] : [`liveness: still open: ${openThings(world).slice(0, 5).join(', ')}`];
  return { world, broken: [...world.violations, ...stuck, ...broken] };
}
