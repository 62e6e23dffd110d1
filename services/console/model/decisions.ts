import { z } from 'zod';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { lineage, viewOf } from '../../../shared/lineage/head.ts';
import type { Recorded } from '../../../shared/log/event-log.ts';
import { type Place, packPlace, unpackPlace } from '../../../shared/views/place.ts';
import { createPolicyView, policyState, type VersionView } from '../../../shared/views/policy-view.ts';
import { createVersionWatch, versionWatchState } from './version-watch.ts';

/** An event of `training` that is about versions, not samples. */
export type Decision = {
  readonly type: ClawLoopEvent['type'];
  readonly time: string;
  readonly place: Place;
  /** what it says, without the parts that are long or known */
  readonly data: Readonly<Record<string, unknown>>;
};

export type ShownVersion = VersionView & {
  /** head: served now; lineage: an ancestor of it */
  readonly role: 'head' | 'lineage' | '';
  readonly turns: number;
};

/** Events of each adapter that stay in memory; a page shows the latest. */
const KEPT = 2_000;
/** Events of `training` that are about samples or wishes. */
const others = /^(?:sample|wish)\./;
/** Fields that the page reads from the log when somebody opens the record. */
const long = new Set(['settings', 'samples', 'earlier', 'metrics', 'adapter']);

type Kept = Omit<Decision, 'place'> & { readonly packed: number };

const kept = z.object({
  type: z.custom<Kept['type']>((type) => typeof type === 'string'),
  time: z.string(),
  packed: z.int(),
  data: z.record(z.string(), z.unknown()),
});

const adapterState = z.object({
  policy: policyState,
  watch: versionWatchState,
  decisions: z.array(kept),
  served: z.int().optional(),
  isPaused: z.boolean(),
  turnsOf: z.array(z.tuple([z.string(), z.int()])),
});
type AdapterState = z.output<typeof adapterState>;

/** By adapter. */
export const decisionsState = z.record(z.string(), adapterState);
type DecisionsState = z.output<typeof decisionsState>;

/** The versions of all adapters, and what was decided about them. */
export function createDecisions(from: DecisionsState = {}) {
  const adapters = new Map(
    Object.entries(from).map(([name, state]) => [name, createAdapter(name, state)] as const),
  );
  const of = (name: string) => {
    const adapter = adapters.get(name) ?? createAdapter(name);
    adapters.set(name, adapter);
    return adapter;
  };
  let revision = 0;
  return {
    on: (record: Recorded, topic: Topic): void => {
      if (topic !== 'training' || others.test(record.event.type)) return;
      revision += 1;
      of(record.event.subject).on(record);
    },
    names: (): readonly string[] => [...adapters.keys()].sort(),
    of,
    revision: () => revision,
    state: (): DecisionsState =>
      Object.fromEntries([...adapters].map(([name, adapter]) => [name, adapter.stored()])),
  };
}

function createAdapter(name: string, from?: AdapterState) {
  const policy = createPolicyView(name, from?.policy);
  const watch = createVersionWatch(from?.watch);
  let decisions: Kept[] = [...(from?.decisions ?? [])];
  let served = from?.served;
  let isPaused = from?.isPaused ?? false;
  const turnsOf = new Map<string, number>(from?.turnsOf);
  const on = ({ event, at, time }: Recorded): void => {
    policy.on(event);
    watch.on(event, time);
    if (event.type === 'verdict.recorded') return; // one per turn
    if (event.type === 'policy.loaded') served = event.data.version;
    if (event.type === 'learning.paused') isPaused = true;
    if (event.type === 'learning.resumed') isPaused = false;
    if (event.type === 'batch.submitted') turnsOf.set(event.data.batchId, event.data.samples.length);
    const packed = packPlace({ topic: 'training', ...at });
    decisions.push({ type: event.type, time: event.time, packed, data: shortened(event.data) });
    if (decisions.length > 2 * KEPT) decisions = decisions.slice(-KEPT);
  };
  const state = () => {
    const { head, open, versions } = policy.head();
    return {
      head,
      served,
      isPaused,
      /** the version that is being trained */
      training: open?.n,
      wasServed: Object.keys(versions).map(Number),
    };
  };
  /** Oldest first. */
  const versions = (): readonly ShownVersion[] => {
    const head = policy.head();
    const path = new Set(lineage(viewOf(head), head.head));
    const roleOf = (version: number) => (version === head.head ? 'head' : path.has(version) ? 'lineage' : '');
    return [...policy.versions.values()].map((version) => ({
      ...version,
      role: roleOf(version.version),
      turns: turnsOf.get(version.batchId) ?? 0,
    }));
  };
  /** The latest that `wants` accepts, newest first. */
  const latest = (most: number, wants: (decision: Kept) => boolean = () => true): readonly Decision[] => {
    const found: Decision[] = [];
    for (let i = decisions.length - 1; i >= 0 && found.length < most; i--) {
      const { packed, ...decision } = decisions[i]!;
      if (wants(decisions[i]!)) found.push({ ...decision, place: unpackPlace(packed) });
    }
    return found;
  };
  const stored = (): AdapterState => ({
    policy: policy.state(),
    watch: watch.state(),
    decisions: decisions.map((decision) => ({ ...decision, data: { ...decision.data } })),
    served,
    isPaused,
    turnsOf: [...turnsOf],
  });
  /** `watch`: what the verdicts on its versions say; `stored`: the state to go on from */
  return { on, state, versions, latest, watch, stored };
}

const shortened = (data: object): Decision['data'] =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !long.has(name)));
