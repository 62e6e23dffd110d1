import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';

/** Samples of one adapter that no finished batch has taken. */
export type WaitingSamples = {
  readonly on: (event: ClawLoopEvent) => void;
  readonly count: () => number;
  /** Whether a batch is under way. */
  readonly trains: () => boolean;
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
    trains: () => open !== undefined,
    hasCome: (session) => sessions.has(session),
  };
}

export type RoomLimits = {
  readonly maxSessions: number;
  /** samples that a version consumes at least */
  readonly batchSize: number;
  /** samples that one consumes where more wait than may */
  readonly maxBatchSize: number;
  /** versions that a sample may be behind the head */
  readonly maxStaleness: number;
};

/** An open session, as far as it matters to room. */
export type OpenSession = {
  /** answers so far: each may become a sample when it ends */
  readonly answers: number;
  /** it stays open for reasons of its own: other attempts at its task, say */
  readonly rewarded: boolean;
  /** ms since anything was heard of it */
  readonly quietMs: number;
};

/** Of one adapter: each learns from its own sessions. */
export type Occupancy = {
  readonly open: readonly OpenSession[];
  /** open sessions of other adapters, which take places and no room */
  readonly others: number;
  /** samples, those on their way and those in training included */
  readonly waiting: number;
  /** a version is being made, or samples are on their way */
  readonly trains: boolean;
  /** answers of a session, the mean of the latest ones; at least 1 */
  readonly usual: number;
};

/** ms without a word, after which nobody waits for a session: it may be left alone until its time is over */
export const QUIET_MS = 60_000;

/**
 * Why no session can begin; undefined: one can.
 *
 * Every version consumes a batch, and batches keep sessions whole, so `maxStaleness + 1` batches are what may
 * be under way without growing too old: what waits, and what the open sessions will come to. Where nothing
 * waits or trains, no version is made, so that what rewarded sessions hold does not age: as many again may
 * begin, up to what the largest batches consume. That way those who keep sessions open until others are done
 * come to an end, and whatever is open for good counts only until it is quiet.
 *
 * @param ending is open, and ends for the one that begins
 */
export function lackOfRoom(
  { maxSessions, batchSize, maxBatchSize, maxStaleness }: RoomLimits,
  { open, others, waiting, trains, usual }: Occupancy,
  ending?: Pick<OpenSession, 'answers'>,
): 'sessions' | 'staleness' | undefined {
  if (open.length + others >= maxSessions) return 'sessions';
  const versions = maxStaleness + 1;
  const heard = open.filter(({ quietMs }) => quietMs < QUIET_MS);
  const coming = waiting + (ending?.answers ?? 0);
  const under = coming + samplesOf(heard, usual);
  const room = versions * usual * Math.ceil(batchSize / usual);
  if (under < room) return undefined;
  if (trains || coming >= batchSize || under >= versions * Math.max(maxBatchSize, usual)) return 'staleness';
  const unrewarded = heard.filter(({ rewarded }) => !rewarded);
  return samplesOf(unrewarded, usual) < room ? undefined : 'staleness';
}

const samplesOf = (sessions: readonly OpenSession[], usual: number): number =>
  sessions.reduce((sum, { answers }) => sum + Math.max(answers, usual), 0);
