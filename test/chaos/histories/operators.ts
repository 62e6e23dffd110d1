import { chainBetween } from '../../../services/cli/retrain/plan.ts';
import { updateSightings } from '../../../services/collector/sightings.ts';
import {
  inactiveLanes,
  longCanaries,
  openSessions,
  type TimedFact,
  waitingBatches,
} from '../../../services/collector/sweep-candidates.ts';
import { openTurns } from '../../../services/judge/owed-votes.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import type { SubjectView } from '../../../shared/log/event-log.ts';
import {
  batchRequested,
  batchReturned,
  learningPaused,
  learningResumed,
  policyRolledBack,
  timeOf,
  voteExpired,
} from './facts.ts';
import { canary, type FoldName } from './folds.ts';
import { rowsOf } from './history-log.ts';
import { adapters, append, appendSometime, groupsOf, headNow, newId, type World } from './world.ts';

/** Ticks on the sweepers' monotonic clock. */
const IDLE = 60;
const REST = 20;
export const DEADLINE = 350;

export const viewsOf = (world: World, name: FoldName): readonly SubjectView[] =>
  groupsOf(world, name).flatMap(({ partition, states }) =>
    [...states].map(([subject, map]) => ({ subject, partition, rows: rowsOf(map) })),
  );

export const sweeps = ['idle', 'rested', 'deadline', 'waited', 'canary'] as const;
export type Sweep = (typeof sweeps)[number];

/** A sweeper sees a state, and may speak when it is over. */
export function sweep(world: World, kind: Sweep, surely = false): void {
  const say = (event: ClawLoopEvent) => (surely ? append(world, event) : appendSometime(world, event));
  const time = timeOf(world.now);
  const sayAll = (due: readonly TimedFact[]) => {
    for (const fact of due.flatMap((one) => one(time) ?? [])) say(fact);
  };
  if (kind === 'idle' || kind === 'rested') {
    const [candidatesOf, span] =
      kind === 'idle' ? [openSessions('votes', 'reward'), IDLE] : [inactiveLanes, REST];
    const candidates = viewsOf(world, 'attribute').flatMap(candidatesOf);
    const { sightings, due } = updateSightings(world.sightings[kind], candidates, world.awake, span);
    world.sightings[kind] = sightings;
    sayAll(due);
  } else if (kind === 'deadline') {
    const candidates = viewsOf(world, 'judge').flatMap(({ subject: lane, rows }) =>
      [...openTurns(rows)]
        .filter(([, { settle }]) => settle === 'votes')
        .map(([turnId]) => ({
          name: turnId,
          fact: () => voteExpired({ id: `${turnId}/expired`, tick: world.now }, { turnId, lane }),
        })),
    );
    const { sightings, due } = updateSightings(world.sightings.deadline, candidates, world.awake, DEADLINE);
    world.sightings.deadline = sightings;
    for (const fact of due) say(fact());
  } else if (!(kind === 'canary' && world.faults.has('no-canary-timer')))
    sayAll(
      viewsOf(world, 'submit')
        .flatMap(kind === 'waited' ? waitingBatches : longCanaries(canary.hours))
        .map(({ fact }) => fact),
    );
}

export function operate(world: World): void {
  const { random } = world;
  const adapter = random.of(adapters);
  const state = headNow(world, adapter);
  const one = { id: newId(world, 'o'), tick: world.now };
  const kind = random.int(retrains(world) ? 9 : 8);
  const say = (event: ClawLoopEvent) => appendSometime(world, event);
  if (kind < 3 && state.head !== 0) {
    const older = lineage(viewOf(state), state.head).slice(1);
    say(policyRolledBack(one, adapter, state.head, random.of(older)));
  } else if (kind === 3) {
    const to = random.of(Object.keys(state.versions).map(Number));
    if (to !== state.head) say(policyRolledBack(one, adapter, state.head, to));
  } else if (kind === 4) say(learningPaused(one, adapter));
  else if (kind < 7) say(learningResumed(one, adapter));
  else if (kind === 7) say(batchRequested(one, adapter, state.n));
  else for (const event of retraining(world, adapter)) say(event);
}

/** In some histories operators never train again, so that other rare things keep their place in others. */
const retrains = ({ seed }: World): boolean => seed % 3 === 1;

/** Goes back to an earlier version, and lets what led to some version train again, without a few samples. */
function retraining(world: World, adapter: string): readonly ClawLoopEvent[] {
  const { random, records } = world;
  const head = headNow(world, adapter);
  const batches = new Map(
    records.training
      .flat()
      .flatMap((event) =>
        event.type === 'batch.submitted' && event.subject === adapter ? [[event.data.n, event.data]] : [],
      ),
  );
  const served = Object.keys(head.versions).map(Number);
  const to = random.chance(0.5) ? head.head : random.of(lineage(viewOf(head), head.head));
  const none = new Set<string>();
  const nothing = { waiting: [], withdrawn: none, corrected: none, erased: new Set<number>() };
  const chain = chainBetween({ head, batches, ...nothing }, to, random.of(served));
  const command = () => ({ id: newId(world, 'o'), tick: world.now });
  // also what the start learned from, which must not train again
  const returned = [...chain.batches, ...chain.learned].flatMap((n) => {
    const first = batches.get(n);
    const samples = first?.samples.filter(() => random.chance(0.8)) ?? [];
    return first === undefined || samples.length === 0 ? [] : [batchReturned(command(), first, samples)];
  });
  return [...(to === head.head ? [] : [policyRolledBack(command(), adapter, head.head, to)]), ...returned];
}
