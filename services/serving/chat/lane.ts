import { hash, randomUUID } from 'node:crypto';

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

/** How the ids of each API's answers begin. */
const beginnings = { chat: 'chatcmpl-', messages: 'msg_', responses: 'resp_' } as const;

/** Ids of answers carry their lane, so that feedback finds its partition without a look-up. */
export const newAnswerId = (lane: string, api: keyof typeof beginnings): string =>
  `${beginnings[api]}${lane}-${randomHex()}`;

/** 24 digits, 90 bits of them random: a UUID costs a tenth of what `randomBytes` does. */
const randomHex = (): string => randomUUID().replaceAll('-', '').slice(0, 24);

/** Each choice is an answer with an id of its own; the completion's is that of choice 0. */
export const choiceId = (completionId: string, choice: number): string =>
  choice === 0 ? completionId : `${completionId}-${choice}`;

/** The lane of an answer's id, or of a choice's; undefined when it is none of ours. */
export const laneOfCompletion = (id: string): string | undefined =>
  /^(?:chatcmpl-|msg_|resp_)([0-9a-f]{12})-[0-9a-f]{24}(?:-[1-9]\d{0,3})?$/.exec(id)?.[1];
