import { z } from 'zod';
import { headState } from '../../../shared/lineage/head-state.ts';
import { keepSnapshot } from '../../../shared/log/snapshots/keep-snapshot.ts';
import type { SnapshotKind, Snapshots } from '../../../shared/log/snapshots/snapshots.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { HeadView } from '../heads/head-view.ts';
import { leasesState } from '../sessions/lease-table.ts';
import { sessionsState } from '../sessions/stored-rows.ts';
import type { Views } from './open-views.ts';

/** One snapshot for each topic that serving follows: all its views of a topic have read it equally far. */
const heads = {
  name: 'serving-training',
  version: 1,
  state: z.record(
    z.string(),
    z.object({
      head: headState,
      waiting: z.array(
        z.object({
          id: z.string(),
          session: z.object({ lane: z.string(), session: z.string() }).optional(),
        }),
      ),
      sessions: z.array(z.string()),
    }),
  ),
} satisfies SnapshotKind<unknown>;

const conversations = {
  name: 'serving-conversations',
  version: 1,
  state: z.object({
    sessions: sessionsState,
    leases: leasesState,
    places: z.object({
      lanes: z.string(),
      offsets: z.string(),
      partitions: z.string(),
      deletions: z.string(),
      isWhole: z.boolean(),
    }),
    answered: z.string(),
    deletions: z.array(z.tuple([z.string(), z.number()])),
  }),
} satisfies SnapshotKind<unknown>;

const turns = {
  name: 'serving-turns',
  version: 1,
  state: z.object({
    opened: z.array(z.object({ key: z.string(), session: z.string(), lane: z.string(), epoch: z.string() })),
  }),
} satisfies SnapshotKind<unknown>;

/** The stored states of serving's views; each is absent if there is none that fits. */
export async function loadViews(snapshots: Snapshots, adapters: readonly string[]) {
  const [training, inConversations, inTurns] = await Promise.all([
    snapshots.load(heads),
    snapshots.load(conversations),
    snapshots.load(turns),
  ]);
  // an adapter that was not served before has to be read from the beginning
  const hasAll = adapters.every((adapter) => training?.state[adapter] !== undefined);
  const byAdapter = Object.entries(training?.state ?? {}).map(([name, { head }]) => [name, head] as const);
  return {
    training: training && hasAll ? { ...training, heads: Object.fromEntries(byAdapter) } : undefined,
    conversations: inConversations,
    turns: inTurns,
  };
}

type StoredViews = Awaited<ReturnType<typeof loadViews>>;

type Keeping = {
  readonly stored: StoredViews;
  /** The views may know events that are in the outbox; their states are not stored then. */
  readonly outboxDepth: () => number;
  readonly logger: Logger;
};

/** Samples have long bodies, so fewer of them are worth a snapshot. */
const SAMPLES = 1_000;

/** Stores the states from time to time, and when closed. */
export function keepViews(snapshots: Snapshots, views: Views, { stored, outboxDepth, logger }: Keeping) {
  const { head, samples, sessions, leases, places, named, responses } = views;
  const onFailure = (error: unknown) => logger.debug({ err: error }, 'could not store the state of a view');
  const common = { snapshots, onFailure };
  const kept = [
    keepSnapshot({
      ...common,
      kind: heads,
      stored: stored.training?.upTo,
      records: SAMPLES,
      upTo: () => ({ training: head.position() }),
      isCaughtUp: head.isCaughtUp,
      state: () =>
        Object.fromEntries(
          [...samples].map(([name, waiting]) => {
            const { waiting: of, sessions: come } = waiting.state();
            return [name, { head: storedHead(head, name), waiting: [...of], sessions: [...come] }];
          }),
        ),
    }),
    keepSnapshot({
      ...common,
      kind: conversations,
      stored: stored.conversations?.upTo,
      upTo: () => ({ conversations: sessions.position() }),
      isCaughtUp: sessions.isCaughtUp,
      state: () =>
        outboxDepth() > 0
          ? undefined
          : {
              sessions: sessions.state(),
              leases: leases.state(),
              places: places.state(),
              answered: named.answered(),
              deletions: responses.deletions().map(([id, at]): [string, number] => [id, at]),
            },
    }),
    keepSnapshot({
      ...common,
      kind: turns,
      stored: stored.turns?.upTo,
      upTo: () => ({ turns: named.position() }),
      isCaughtUp: named.isCaughtUp,
      state: () => (outboxDepth() > 0 ? undefined : { opened: [...named.opened()] }),
    }),
  ];
  return { close: async () => void (await Promise.all(kept.map((one) => one.close()))) };
}

const storedHead = (head: HeadView, adapter: string) => {
  const { canary = null, ...state } = head.of(adapter).state();
  return { ...state, canary };
};
