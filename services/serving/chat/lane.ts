import { createHash, randomBytes } from 'node:crypto';

/**
 * What a request's envelope alone can tell, as a short hash: the partition key of all that follows from
 * the request. Never from message text.
 */
export function laneOf(keyId: string, session: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify(session === undefined ? [keyId] : [keyId, session]))
    .digest('hex')
    .slice(0, 12);
}

/** Completion ids carry their lane, so that feedback finds its partition without a look-up. */
export const newCompletionId = (lane: string): string =>
  `chatcmpl-${lane}-${randomBytes(12).toString('hex')}`;

/** The lane of a completion id; undefined when it is none of ours. */
export const laneOfCompletion = (id: string): string | undefined =>
  /^chatcmpl-([0-9a-f]{12})-[0-9a-f]{24}$/.exec(id)?.[1];
