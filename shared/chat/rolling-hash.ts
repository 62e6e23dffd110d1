import { shortHash } from '../lang/short-hash.ts';
import { type ChatMessage, isSystem } from './message.ts';
import { type NormalisedMessage, normaliseMessage } from './normalise.ts';

/** The hash before any message. */
export const emptyConversation = shortHash('');

/**
 * A hash after each message, aligned with `messages`: h[i] = sha256(h[i-1], normalised message i), shortened. A
 * request continues a known conversation if one of its hashes is known; the last known hash is the branching point.
 *
 * Messages that do not identify a conversation leave the hash unchanged: internal context, which is new for each
 * request, and the system text, where clients put the date or the model.
 */
export function rollingHashes(messages: readonly ChatMessage[]): readonly string[] {
  let hash = emptyConversation;
  return messages.map((message) => {
    hash = nextHash(hash, message);
    return hash;
  });
}

/** The hash after one more message. */
export function nextHash(previous: string, message: ChatMessage): string {
  if (isSystem(message)) return previous;
  const normalised = normaliseMessage(message);
  return normalised === undefined ? previous : shortHash(`${previous}\n${serialise(normalised)}`);
}

const serialise = ({ role, text, attachments, calls }: NormalisedMessage): string =>
  JSON.stringify([role, text, attachments, calls.map((call) => [call.name, call.arguments])]);
