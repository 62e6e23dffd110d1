import { z } from 'zod';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { keepSnapshot } from '../../../shared/log/snapshots/keep-snapshot.ts';
import { openSnapshots, type SnapshotKind } from '../../../shared/log/snapshots/snapshots.ts';
import { cautionsState, cautionTypes, createCautions } from '../../../shared/views/cautions.ts';
import { createStatus, statusTypes } from './status.ts';
import { statusState } from './status-state.ts';

const kind = {
  name: 'up-status',
  version: 1,
  state: z.object({ status: statusState, cautions: cautionsState }),
} satisfies SnapshotKind<unknown>;

const followed = ['conversations', 'turns', 'training'] as const;

type Options = {
  readonly log: EventLog;
  /** folder of the stored state */
  readonly snapshots: string;
  readonly adapters: readonly string[];
  readonly signal: AbortSignal;
};

/** The live line's counters and the cautions: goes on from the stored state, and reads only newer records. */
export async function followStatus({ log, snapshots: folder, adapters, signal }: Options) {
  const snapshots = openSnapshots({ folder, log });
  const found = await snapshots.load(kind);
  // an adapter that was not shown before has to be read from the beginning
  const stored = adapters.every((name) => found?.state.status.adapters[name]) ? found : undefined;
  const status = createStatus(adapters, stored?.state.status);
  const cautions = createCautions(stored?.state.cautions);
  const on = (event: ClawLoopEvent): void => {
    status.on(event);
    cautions.on(event);
  };
  const types = new Set([...statusTypes, ...cautionTypes]);
  const readers = followed.map((topic) => {
    const from = { ...stored?.upTo[topic] };
    return [topic, log.follow(topic, from, ({ event }) => on(event), { signal, wants: types })] as const;
  });
  let isCaughtUp = false;
  const caughtUp = Promise.all(readers.map(([, reader]) => reader.caughtUp)).then(
    () => {
      isCaughtUp = true;
    },
    () => {}, // `done` reports the reason
  );
  const kept = keepSnapshot({
    snapshots,
    kind,
    stored: stored?.upTo,
    upTo: () => Object.fromEntries(readers.map(([topic, { position }]) => [topic, position()])),
    state: () => ({ status: status.state(), cautions: cautions.state() }),
    isCaughtUp: () => isCaughtUp,
    onFailure: () => {}, // the next start reads more
  });
  return {
    status,
    cautions: cautions.cautions,
    /** Resolves when everything that was in the log at the start has been read, or cannot be read. */
    caughtUp,
    close: async (): Promise<void> => {
      await Promise.allSettled(readers.map(([, { done }]) => done));
      await kept.close();
    },
  };
}
