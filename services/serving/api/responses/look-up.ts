import type { ResponseDeleted } from '../../../../shared/events/response-deleted.ts';
import { isLogError } from '../../../../shared/log/errors.ts';
import type { EventLog, Heading, Recorded } from '../../../../shared/log/event-log.ts';
import { readToEnd } from '../../../../shared/log/read-topic.ts';
import { laneOfCompletion } from '../../answer/answer-ids.ts';
import type { Place } from './lane-places.ts';
import { type StoredResponse, storedResponseOf } from './stored-response.ts';

export type StoredResponses = ReadonlyMap<string, StoredResponse>;

/**
 * Reads answers of one lane at indexed places, the latest first. A deletion may precede its answer in the log, because
 * the answer waited in an outbox; but a deletion is never older than the request for its answer.
 */
export async function readPlaces(
  log: Pick<EventLog, 'read'>,
  places: readonly Place[],
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<StoredResponses> {
  const responses = new Map<string, StoredResponse>();
  const deleted = new Set<string>();
  const wanted = new Set(ids);
  let earliestStart = Number.POSITIVE_INFINITY;
  for (const { at, isDeletion } of places) {
    if (!isDeletion && wanted.size === 0) continue;
    signal.throwIfAborted();
    const event = await readIfThere(log, at);
    if (event?.type === 'response.deleted') {
      deleted.add(event.data.interactionId);
      if (wanted.size === 0 && isBefore(event, earliestStart)) break;
    }
    if (event?.type !== 'interaction.completed' || !wanted.delete(event.id)) continue;
    earliestStart = Math.min(earliestStart, Date.parse(event.data.timing.startedAt));
    const stored = storedResponseOf(event.data);
    if (stored !== undefined) responses.set(event.id, stored);
  }
  for (const id of deleted) responses.delete(id);
  return responses;
}

/** ms by which the clocks of replicas may differ */
const CLOCKS_DIFFER_MS = 3_600_000;
const isBefore = ({ time }: ResponseDeleted, earliestStart: number): boolean =>
  Date.parse(time) < earliestStart - CLOCKS_DIFFER_MS;

/** Undefined: the record is gone or unreadable. */
const readIfThere = (log: Pick<EventLog, 'read'>, at: Place['at']) =>
  log.read('conversations', at).catch((error: unknown) => {
    if (isLogError(error, 'LogUnavailable')) throw error;
    return undefined;
  });

/** Reads the whole log, for answers older than the index. Rejects if the signal aborts first. */
export async function readAll(
  log: Pick<EventLog, 'follow'>,
  ids: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<StoredResponses> {
  const responses = new Map<string, StoredResponse>();
  const deleted = new Set<string>(); // a deletion may precede its answer, which waits in an outbox
  signal.throwIfAborted();
  const onRecord = ({ event }: Recorded) => {
    if (event.type === 'response.deleted') {
      deleted.add(event.data.interactionId);
      responses.delete(event.data.interactionId);
    }
    if (event.type !== 'interaction.completed' || !ids.has(event.id) || deleted.has(event.id)) return;
    const stored = storedResponseOf(event.data);
    if (stored !== undefined) responses.set(event.id, stored);
  };
  const lanes = new Set([...ids].map(laneOfCompletion));
  const wants = ({ type, subject }: Heading) =>
    lanes.has(subject) && (type === 'interaction.completed' || type === 'response.deleted');
  await readToEnd(log, 'conversations', onRecord, { wants, signal });
  signal.throwIfAborted();
  return responses;
}
