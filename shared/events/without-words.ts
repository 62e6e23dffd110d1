import type { ClawLoopEvent } from './catalogue.ts';
import type { ChatMessage } from './chat-message.ts';
import type { TokenRecord } from './token-record.ts';

/** Stands where words were. */
export const ERASED = '[words erased]';

/**
 * The event without the words of a person or a model. Ids, times, names and figures stay, so that every count of the
 * log still balances. Equal words become equal marks: a turn still has the content of its interaction.
 * @param at time of the erasure, RFC 3339
 */
export function withoutWords(event: ClawLoopEvent, at: string): ClawLoopEvent {
  const data = dataWithout(event);
  return data === undefined || data === event.data
    ? event
    : ({ ...event, data, erased: at } as ClawLoopEvent);
}

/** Undefined: an event of this type holds no words. */
function dataWithout(event: ClawLoopEvent): ClawLoopEvent['data'] | undefined {
  switch (event.type) {
    case 'interaction.completed': {
      const { templateInput: _, tools: __, ignored: ___, user: ____, ...data } = event.data;
      const { stop: _stop, stopTokenIds: _ids, ...sampling } = data.sampling;
      const { response } = data;
      return {
        ...data,
        sampling,
        messages: data.messages.map(bare),
        answer: bare(data.answer),
        tokens: data.tokens === null ? null : noTokens(data.tokens),
        // What it repeats of its request may be words, so it is no longer found by its id.
        ...(response && { response: { store: false, created_at: response.created_at } }),
      };
    }
    case 'interaction.failed':
      return { ...event.data, message: ERASED };
    case 'interaction.withdrawn':
      return withMark(event.data, 'reason');
    case 'feedback.given':
    case 'turn.feedback':
      return withMark(event.data, 'comment');
    case 'environment.acted':
      return { ...event.data, argumentsDigest: ERASED, observationDigest: ERASED };
    case 'environment.evaluated':
      return { ...event.data, detailDigest: ERASED };
    case 'environment.failed':
      return { ...event.data, reason: ERASED };
    case 'turn.completed':
    case 'turn.continued': {
      const { templateInput: _, tools: __, ...data } = event.data;
      const { messages, answer, tokens, next } = data;
      return {
        ...data,
        messages: messages.map(bare),
        answer: bare(answer),
        tokens: noTokens(tokens),
        next: next.map(bare),
      };
    }
    case 'vote.cast':
    case 'hint.cast':
      return { ...withMark(event.data, 'hint'), text: ERASED };
    case 'judgment.reached':
      return { ...withMark(event.data, 'inferred'), hints: marks(event.data.hints) };
    case 'judgment.revised':
      return { ...event.data, hints: marks(event.data.hints) };
    case 'sample.ready': {
      const { templateInput: _, tools: __, ...data } = event.data;
      const { messages, tokens, hints } = data;
      return { ...data, messages: messages.map(bare), tokens: noTokens(tokens), hints: marks(hints) };
    }
    case 'event.rejected':
      return { ...event.data, error: ERASED, body: ERASED };
    default:
      return undefined;
  }
}

/** The role stays: it says who spoke, not what. */
const bare = ({ role }: ChatMessage): ChatMessage => ({ role, content: ERASED });

/** Token ids are words, and logprobs almost give them back. */
const noTokens = ({ allowed: _, ...tokens }: TokenRecord): TokenRecord => ({
  ...tokens,
  promptIds: [],
  responseIds: [],
  logProbs: [],
});

/** Whether there is a hint stays; how many there are does not. */
const marks = (hints: readonly string[]): readonly string[] => (hints.length === 0 ? [] : [ERASED]);

const withMark = <Data extends object>(data: Data, field: keyof Data): Data =>
  data[field] === undefined ? data : { ...data, [field]: ERASED };
