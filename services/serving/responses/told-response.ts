import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';
import type { AskedChat } from '../chat/answer.ts';
import type { Finished } from '../chat/completion.ts';
import { withoutInstructions } from './chat-messages.ts';
import type { Tool } from './fields.ts';
import { endOf, itemsOf, lastItemStatus, responseEnd, responseHead } from './response-parts.ts';
import { namespacesOf } from './tools.ts';

type Fact = InteractionCompleted['data'];

/** What of an answer's fact is needed to tell it again, and to go on from it. */
export type ToldResponse = Pick<
  Fact,
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
> & { readonly finishReason: Exclude<Fact['finishReason'], 'error'> };

/** As the fact will have it; of lists of its own, which do not hold the text that went to engine and log. */
export function toldResponse({ keyId, adapter, chat, created }: AskedChat, finished: Finished): ToldResponse {
  const { answer } = finished.choices[0]!;
  const messages = [...chat.generation.messages];
  const tools = [...(chat.tools ?? [])];
  const { recorded: _, ...end } = endOf(finished, chat.ignored);
  return {
    ...{ key: keyId, adapter, messages, answer, tools, model: chat.model },
    ...end,
    response: { store: true, ...chat.response, created_at: created },
  };
}

/** Undefined: it was not stored, or the fact was too large to hold what was said. */
export function toldByFact(fact: Fact): ToldResponse | undefined {
  const { tooLarge, response, timing, finishReason } = fact;
  if (tooLarge === true || response?.store === false || finishReason === 'error') return undefined;
  const created_at = Math.floor(Date.parse(timing.startedAt) / 1000);
  return { ...fact, finishReason, response: response ?? { store: true, created_at } };
}

/** What was said up to an answer and with it, without the instructions of its request. */
export const conversationOf = ({ messages, answer }: ToldResponse): readonly ChatMessage[] => [
  ...withoutInstructions(messages),
  answer,
];

/** The response as it was told. */
export function bodyOf(id: string, told: ToldResponse): object {
  const { answer, model, tools = [], response } = told;
  const head = responseHead({ id, model, tools: tools.map(toolOf), said: response ?? {} });
  const namespaces = namespacesOf((response?.tools as readonly Tool[] | undefined) ?? []);
  const output = itemsOf(answer, id, { last: lastItemStatus(told), namespaces });
  return { ...head, ...responseEnd({ ...told, recorded: true }, output) };
}

/** A tool of a chat as one of a response. */
const toolOf = (tool: unknown): object => {
  const { type, function: called } = tool as { readonly type: string; readonly function: object };
  return { type, parameters: null, strict: null, ...called };
};
