import { createHash } from 'node:crypto';
import { type ChatMessage, isSystem } from './message.ts';
import { type NormalisedMessage, normalisedSystemText, normaliseMessage } from './normalise.ts';

/** The hash before any message. */
export const emptyConversation = shortHash('');

/**
 * A hash after each message, aligned with `messages`: h[i] = sha256(h[i-1], normalised message i), shortened.
 * So a request continues a known conversation when one of its hashes is known; the last such is where it
 * parts from it.
 *
 * Messages that do not tell one conversation from another leave the hash as it was: internal context, which
 * is made anew for each request, and the system text, where clients write the date or the model. It has a
 * hash of its own.
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

/** Tells whether two requests have the same system text, tolerant of the date and model in it. */
export const systemHash = (messages: readonly ChatMessage[]): string =>
  shortHash(normalisedSystemText(messages));

const serialise = ({ role, text, attachments, calls }: NormalisedMessage): string =>
  JSON.stringify([role, text, attachments, calls.map((call) => [call.name, call.arguments])]);

/** 96 bits, in hex: two of a thousand million conversations are alike with a chance of one in 10^11. */
function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}
