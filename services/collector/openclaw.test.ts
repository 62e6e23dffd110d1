import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attributionSuite, placed } from '../../test/openclaw-requests/attribution-suite.ts';
import { builtRequests } from '../../test/openclaw-requests/built-requests.ts';
import { assistant, interaction, user } from './testing/events.ts';

attributionSuite('requests in the shape of OpenClaw', builtRequests);

/** Requests that are not in the scenarios, with the words by which ClawLoop recognises them. */
const sideRequests: readonly [rule: string, messages: readonly ChatMessage[]][] = [
  [
    'memory-flush',
    [user('hi'), assistant('x'), user('[Sat 2026-11-21 00:25 UTC] Pre-compaction memory flush. Store')],
  ],
  [
    'compaction',
    [{ role: 'system', content: 'You are a context summarization assistant. Do' }, user('<conversation>')],
  ],
  ['recap', [{ role: 'system', content: 'Write an Activity recap of' }, user('{"previousRecap":""}')]],
  ['title', [{ role: 'system', content: 'Generate a concise session title for' }, user('hi')]],
  [
    'title',
    [user('### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.')],
  ],
  ['title', [user('Provide a concise, 5-word-or-less title for the conversation, in its own language.')]],
  ['title', [user('Provide a concise, 5-word-or-less title for the conversation, in its own language.')]],
  ['heartbeat', [user('hi'), assistant('x'), user('Follow the heartbeat monitor scratch context strictly')]],
  ['cron', [user('[Sat 2026-11-21 00:25 UTC] [cron:1 morning] say hello')]],
  ['cron', [user('hi'), assistant('x'), user('A scheduled reminder has been triggered. Say it')]],
  [
    'repair',
    [user('hi'), assistant(''), user('The previous assistant turn recorded reasoning but did not produce')],
  ],
  [
    'repair',
    [user('hi'), assistant(''), user('The previous attempt did not produce a user-visible answer.')],
  ],
  [
    'repair',
    [user('hi'), assistant(''), user('The previous assistant turn completed its tool calls but did not end')],
  ],
  ['announce', [user('hi'), assistant('x'), user('An async command did not run. Say so.')]],
  ['announce', [user('hi'), assistant('x'), user('[Internal task completion event] source: subagent')]],
  ['heartbeat', [user('hi'), assistant('x'), user('Run the following periodic tasks (those due): 1')]],
  ['session-start', [user('A new session was started via /new or /reset. Greet the person.')]],
  ['probe', [user('Reply with OK. Do not use tools.')]],
  [
    'safety-review',
    [{ role: 'system', content: "You are OpenClaw's exec safety reviewer. Look." }, user('{"command":"ls"}')],
  ],
  ['title', [{ role: 'system', content: 'Generate a very short topic label for' }, user('hi')]],
  ['nothing-new', [user('hi'), assistant('The capital of')]],
];

test.each(sideRequests)('%s requests are side requests', (rule, messages) => {
  expect(Object.values(placed([interaction({ id: 'x', messages, answer: 'y' })], []))[0]).toMatch(
    new RegExp(` ${rule} side$`),
  );
});

test('a person who writes about titles, summaries or cron is in the main line', () => {
  for (const words of [
    'Give me a title for my book.',
    'Summarize this article for me: the conversation between two birds.',
    'How do I write a cron job?',
    'Write a summary of our conversation so far.',
    'Give me a name for my chat app.',
    'Create a title page for the report.',
    'Read HEARTBEAT.md and tell me what it says.',
    'Reply with OK.',
  ])
    expect(placed([interaction({ id: 'x', messages: [user(words)], answer: 'y' })], ['chat-x'])).toEqual({
      x: 'chat-x conversation no-next-state',
    });
});
