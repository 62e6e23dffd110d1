import { hash } from 'node:crypto';

/**
 * What a request's envelope alone can tell, as a short hash: the partition key of all that follows from
 * the request. Never from message text.
 *
 * @param adapter where it is not the one that answers unless told: of two adapters that are asked the same,
 * without a session, each has a conversation of its own
 */
export function laneOf(keyId: string, session: string | undefined, adapter?: string): string {
  const told = session !== undefined ? [session] : adapter !== undefined ? [null, adapter] : [];
  return hash('sha256', JSON.stringify([keyId, ...told])).slice(0, 12);
}
