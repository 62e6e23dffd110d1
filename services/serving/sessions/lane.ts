import { hash } from 'node:crypto';

/**
 * The lane of a request: a short hash of its key and session, which is the partition key of all events that follow from
 * the request. Never depends on message text.
 *
 * @param adapter if it is not the caller's default: without a session, conversations with different adapters have
 * different lanes
 */
export function laneOf(keyId: string, session: string | undefined, adapter?: string): string {
  const distinction = session !== undefined ? [session] : adapter !== undefined ? [null, adapter] : [];
  return hash('sha256', JSON.stringify([keyId, ...distinction])).slice(0, 12);
}
