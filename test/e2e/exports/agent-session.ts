import type { ExportNode } from '../../../clients/export/session-nodes.ts';
import { assistant, interaction, user } from '../../../services/collector/testing/events.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';

export const session = { session: 'book-1', task: 'book' };
const system: ChatMessage = { role: 'system', content: 'You book flights.' };
const call: ChatMessage = {
  role: 'assistant',
  content: null,
  reasoning_content: 'I need the list.',
  tool_calls: [
    { id: 'c1', type: 'function', function: { name: 'search', arguments: '{"to":"Oslo"}' } },
    { id: 'c2', type: 'function', function: { name: 'search', arguments: 'Bergen' } },
  ],
};
const result = (id: string, content: string): ChatMessage => ({ role: 'tool', tool_call_id: id, content });
const tools = [{ type: 'function', function: { name: 'search', parameters: { type: 'object' } } }];

type Given = Partial<Omit<ExportNode, 'turn' | 'data'>> & { readonly reason?: string };

export function node(
  id: string,
  messages: readonly ChatMessage[],
  answer: string | ChatMessage,
  { reason, ...given }: Given = {},
): ExportNode {
  const { data } = interaction({ id, messages, answer, tools, version: 3 });
  return {
    turn: { id, at: { partition: 0, offset: 0 }, reason: reason ?? null, earned: undefined },
    data,
    parent: null,
    own: null,
    earned: null,
    advantage: null,
    isSide: false,
    holdsSecret: false,
    ...given,
  };
}

const begin = [system, user('Oslo, please.')];
const afterCall = [...begin, call, result('c1', '2 flights'), result('c2', 'no such place')];
const done = [...afterCall, assistant('Booked.'), user('And back?')];

/**
 * A session of an agent that makes two parallel calls, books, and answers one more question; with a second attempt at
 * the last answer.
 */
export const agentSession: readonly ExportNode[] = [
  node('a', begin, call, { earned: 0.5 }),
  node('b', afterCall, 'Booked.', { parent: 'a', earned: 0.5, own: 0.25, advantage: 0.1 }),
  node('c', done, 'Back on Monday.', { parent: 'b', own: 1, earned: 1 }),
  node('d', done, 'No.', { parent: 'b', own: -1, earned: -1 }),
  node('t', [user('A title?')], 'Oslo', { isSide: true, reason: 'side' }),
];

/** The client cut the history: the second request does not continue the text of the first. */
export const rewrittenSession: readonly ExportNode[] = [
  node('a', [system, user('One'), assistant('old'), user('Two')], 'first', { earned: 1, own: 1 }),
  node('b', [user('Summary: one, two.'), user('Three')], 'second', { parent: 'a', earned: 1, own: 1 }),
];
