import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';

/** Samples of one adapter that no finished batch has taken. */
export type WaitingSamples = {
  readonly on: (event: ClawLoopEvent) => void;
  readonly count: () => number;
  /** Whether a sample of that session has come, among the latest. */
  readonly hasCome: (session: string) => boolean;
};

/** sessions */
const REMEMBERED = 10_000;

/** A fold of `training`, in memory. */
export function countWaitingSamples(adapter: string): WaitingSamples {
  const waiting = new Set<string>();
  const sessions = new Set<string>();
  let open: { readonly batchId: string; readonly samples: readonly string[] } | undefined;
  const over = (batchId: string) => {
    if (open?.batchId !== batchId) return;
    for (const sample of open.samples) waiting.delete(sample);
    open = undefined;
  };
  return {
    on: (event) => {
      if (event.subject !== adapter) return;
      switch (event.type) {
        case 'sample.ready':
          waiting.add(event.data.sampleId);
          sessions.add(event.data.session);
          if (sessions.size > REMEMBERED) sessions.delete(sessions.values().next().value!);
          break;
        case 'sample.dropped':
          waiting.delete(event.data.sampleId);
          break;
        case 'batch.submitted':
          open = {
            batchId: event.data.batchId,
            samples: event.data.samples.map(({ sampleId }) => sampleId),
          };
          break;
        case 'policy.promoted':
        case 'policy.rejected':
        case 'policy.update-failed':
          over(event.data.batchId);
      }
    },
    count: () => waiting.size,
    hasCome: (session) => sessions.has(session),
  };
}

export type RoomLimits = {
  readonly maxSessions: number;
  /** samples that a version consumes */
  readonly batchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
};

export type Occupancy = {
  /** sessions */
  readonly open: number;
  /** samples */
  readonly waiting: number;
};

/**
 * Why no session can begin; undefined: one can. Every version consumes a batch, so a session that had more
 * than `maxStaleness` batches before it would train too late. One that ends for it leaves its place, but its
 * sample will wait, if it has answered anything.
 */
export function lackOfRoom(
  { maxSessions, batchSize, maxStaleness }: RoomLimits,
  { open, waiting }: Occupancy,
  ending?: { readonly interactions: number },
): 'sessions' | 'staleness' | undefined {
  const left = ending === undefined ? 0 : 1;
  if (open - left >= maxSessions) return 'sessions';
  const unused = ending?.interactions === 0 ? 1 : 0;
  return waiting + open - unused >= (maxStaleness + 1) * batchSize ? 'staleness' : undefined;
}
