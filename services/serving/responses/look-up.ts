import type { ResponseDeleted } from '../../../shared/events/response-deleted.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Heading, Recorded } from '../../../shared/log/event-log.ts';
import { laneOfCompletion } from '../chat/answer-ids.ts';
import type { Place } from './lane-places.ts';
import { type ToldResponse, toldByFact } from './told-response.ts';

export type Found = ReadonlyMap<string, ToldResponse>;

/**
 * Answers of one lane, out of the records that an index names, the latest ones first. A deletion may stand
 * before its answer, which waited in an outbox; but none is older than the request for its answer.
 */
export async function readPlaces(
  log: Pick<EventLog, 'read'>,
  places: readonly Place[],
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Found> {
  const found = new Map<string, ToldResponse>();
  const gone = new Set<string>();
  const wanted = new Set(ids);
  let begun = Number.POSITIVE_INFINITY;
  for (const { at, isDeletion } of places) {
    if (!isDeletion && wanted.size === 0) continue;
    signal.throwIfAborted();
    const event = await readThere(log, at);
    if (event?.type === 'response.deleted') {
      gone.add(event.data.interactionId);
      if (wanted.size === 0 && isBefore(event, begun)) break;
    }
    if (event?.type !== 'interaction.completed' || !wanted.delete(event.id)) continue;
    begun = Math.min(begun, Date.parse(event.data.timing.startedAt));
    const told = toldByFact(event.data);
    if (told !== undefined) found.set(event.id, told);
  }
  for (const id of gone) found.delete(id);
  return found;
}

/** ms: the clocks of replicas differ */
const CLOCKS_DIFFER_MS = 3_600_000;
const isBefore = ({ time }: ResponseDeleted, begun: number): boolean =>
  Date.parse(time) < begun - CLOCKS_DIFFER_MS;

/** Undefined: it is gone, or nobody can read it. */
const readThere = (log: Pick<EventLog, 'read'>, at: Place['at']) =>
  log.read('conversations', at).catch((error: unknown) => {
    if (isLogError(error, 'LogUnavailable')) throw error;
    return undefined;
  });

/** Reads the whole log: for answers that are older than the index. Rejects where the signal comes first. */
export async function readAll(
  log: Pick<EventLog, 'follow'>,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Found> {
  const found = new Map<string, ToldResponse>();
  const gone = new Set<string>(); // a deletion may overtake its answer, which waits in an outbox
  signal.throwIfAborted();
  const onRecord = ({ event }: Recorded) => {
    if (event.type === 'response.deleted') {
      gone.add(event.data.interactionId);
      found.delete(event.data.interactionId);
    }
    if (event.type !== 'interaction.completed' || !ids.has(event.id) || gone.has(event.id)) return;
    const told = toldByFact(event.data);
    if (told !== undefined) found.set(event.id, told);
  };
  const lanes = new Set([...ids].map(laneOfCompletion));
  const wants = ({ type, subject }: Heading) =>
    lanes.has(subject) && (type === 'interaction.completed' || type === 'response.deleted');
  const stop = new AbortController();
  signal.addEventListener('abort', () => stop.abort());
  const following = log.follow('conversations', {}, onRecord, stop.signal, wants);
  try {
    await Promise.race([following.caughtUp, following.done]);
    signal.throwIfAborted();
    return found;
  } finally {
    stop.abort();
    await following.done.catch(() => {});
  }
}
