import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../../shared/events/interaction-completed.ts';
import type { AcceptedRequest, FinishedAnswer } from '../../answer/answer.ts';
import { withoutInstructions } from './chat-messages.ts';
import type { Tool } from './fields.ts';
import { endOf, itemsOf, lastItemStatus, responseEnd, responseHead } from './response-parts.ts';
import { namespacesOf } from './tools.ts';

type EventData = InteractionCompleted['data'];

/** The part of an answer's event that is needed to retrieve the response or to continue it. */
export type StoredResponse = Pick<
  EventData,
  | 'key'
  | 'adapter'
  | 'messages'
  | 'answer'
  | 'tools'
  | 'model'
  | 'version'
  | 'usage'
  | 'windowCut'
  | 'response'
  | 'ignored'
> & { readonly finishReason: Exclude<EventData['finishReason'], 'error'> };

/** Equal to that of the event. Copies the lists, so that the text sent to engine and log can be freed. */
export function storedResponse(
  { keyId, adapter, chat, created }: AcceptedRequest,
  finished: FinishedAnswer,
): StoredResponse {
  const { answer } = finished.choices[0]!;
  const messages = [...chat.generation.messages];
  const tools = [...(chat.tools ?? [])];
  const { recorded: _, ...end } = endOf(finished, chat.ignored);
  return {
    key: keyId,
    adapter,
    messages,
    answer,
    tools,
    model: chat.model,
    ...end,
    response: { store: true, ...chat.response, created_at: created },
  };
}

/** Undefined: the response was not stored, or its event was too large to contain the messages. */
export function storedResponseOf(data: EventData): StoredResponse | undefined {
  const { tooLarge, response, timing, finishReason } = data;
  if (tooLarge === true || response?.store === false || finishReason === 'error') return undefined;
  const created_at = Math.floor(Date.parse(timing.startedAt) / 1000);
  return { ...data, finishReason, response: response ?? { store: true, created_at } };
}

/** The conversation up to and including an answer, without the instructions of its request. */
export const conversationOf = ({ messages, answer }: StoredResponse): readonly ChatMessage[] => [
  ...withoutInstructions(messages),
  answer,
];

/** The response as the client received it. */
export function bodyOf(id: string, stored: StoredResponse): object {
  const { answer, model, tools = [], response } = stored;
  const head = responseHead({ id, model, tools: tools.map(toolOf), repeated: response ?? {} });
  const namespaces = namespacesOf((response?.tools as readonly Tool[] | undefined) ?? []);
  const output = itemsOf(answer, id, { last: lastItemStatus(stored), namespaces });
  return { ...head, ...responseEnd({ ...stored, recorded: true }, output) };
}

/** Translates a chat tool to a tool of a response. */
const toolOf = (tool: unknown): object => {
  const { type, function: called } = tool as { readonly type: string; readonly function: object };
  return { type, parameters: null, strict: null, ...called };
};
