import { describe, expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attribute } from './attribute.ts';
import { readConversation } from './conversation.ts';
import { capturedInteractions, hasCapturedRequests } from './testing/captured-requests.ts';
import { assistant, interaction, sessionEnded, user } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const describeCaptured = hasCapturedRequests ? describe : describe.skip;

/** Where each request went, by its number: `session rule outcome`. */
function placed(events: readonly ClawLoopEvent[], sessions: readonly string[]): Record<string, string> {
  const ends = sessions.map((session) => ({
    ...sessionEnded({ id: `end of ${session}` }, session),
    time: events.at(-1)!.time,
  }));
  const { emitted } = runFold(attribute, [...events, ...ends], undefined);
  return Object.fromEntries(
    emitted.flatMap(({ type, data }) => {
      if (type === 'turn.completed') return [[data.turnId, `${data.session} ${data.rule} completed`]];
      if (type === 'turn.skipped') return [[data.turnId, `${data.session} ${data.rule} ${data.reason}`]];
      return [];
    }),
  );
}

const parent = '39f3f8a7-7c69-45da-a277-142e8b73625e';
const child = '13e26516-85d5-4378-85e0-3cd066e3caf3';

describeCaptured('requests captured from OpenClaw', () => {
  test('are attributed to their sessions and classified by the Runtime line and their text', () => {
    const captured = capturedInteractions();
    expect(placed(captured, ['probe-1', 'probe-2', 'drop-early', parent, child, 'chat-69'])).toEqual({
      3: 'probe-1 conversation no-next-state',
      // a tool loop: the tool's result is the next state
      7: 'probe-2 conversation completed',
      8: 'probe-2 conversation completed',
      9: 'probe-2 conversation no-next-state',
      // the overgrown history, and what it was cut to after a crash: a made-up tool result is no evidence
      966: 'probe-2 conversation no-next-state',
      967: 'probe-2 conversation completed',
      968: 'probe-2 conversation completed',
      969: 'probe-2 conversation no-next-state',
      // the connection was dropped, and the client tried again
      14: 'drop-early disconnected aborted',
      ...Object.fromEntries([15, 16, 17, 18, 19, 20, 21].map((n) => [n, 'drop-early disconnected aborted'])),
      50: `${parent} conversation completed`,
      51: `${parent} conversation no-next-state`,
      52: `${child} subagent side`,
      53: `${parent} announce side`,
      69: 'chat-69 conversation no-next-state', // its Runtime line was cut out of the capture
    });
  });

  test('are told apart without a Runtime line too, by their histories', () => {
    const captured = capturedInteractions(withoutRuntimeLine);
    expect(captured.some((one) => readConversation(one).runtime.session !== undefined)).toBe(false);
    const where = placed(
      captured,
      ['3', '7', '966', '967', '14', '50', '69'].map((n) => `chat-${n}`),
    );
    expect(where).toMatchObject({
      3: 'chat-3 conversation no-next-state',
      7: 'chat-7 conversation completed',
      8: 'chat-7 conversation completed',
      9: 'chat-7 conversation no-next-state',
      967: 'chat-967 conversation completed',
      968: 'chat-967 conversation completed',
      969: 'chat-967 conversation no-next-state',
      14: 'chat-14 disconnected aborted',
      21: 'chat-14 disconnected aborted',
      50: 'chat-50 conversation completed',
      51: 'chat-50 conversation no-next-state',
      53: 'chat-50 announce side',
      69: 'chat-69 conversation no-next-state',
    });
    expect(where[52]).toMatch(/ subagent side$/);
  });

  test('a retry, whatever the client wraps around the words, is the same user turn', () => {
    const tries = capturedInteractions().filter(({ id }) => Number(id) >= 14 && Number(id) <= 21);
    expect(new Set(tries.map((one) => readConversation(one).prompt)).size).toBe(1);
    const last = tries.at(-1)!;
    const success = interaction({
      id: 'ok',
      time: last.time,
      messages: last.data.messages,
      answer: 'Hello.',
    });
    const original = tries[0]!.data.messages.slice(0, 2); // system and the person's words as they were
    const next = interaction({
      id: 'next',
      time: last.time,
      messages: [...original, assistant('Hello.'), user('Thanks.')],
      answer: 'Welcome.',
    });
    expect(placed([...tries, success, next], [])).toMatchObject({ ok: 'drop-early conversation completed' });
  });

  test('a tool result is the next state; what the client says by itself is not in it', () => {
    const { emitted } = runFold(attribute, capturedInteractions(), undefined);
    expect(emitted.find(({ id }) => id === '7/completed')?.data).toMatchObject({
      next: [{ role: 'tool', content: 'tool-ran-ok' }],
    });
  });
});

function withoutRuntimeLine(message: ChatMessage): ChatMessage {
  const strip = (text: string) => text.replace(/\n*Runtime: agent=[^\n]*/g, '');
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: strip(content) };
  if (!Array.isArray(content)) return message;
  return {
    ...message,
    content: content.map((part) => (part.text === undefined ? part : { ...part, text: strip(part.text) })),
  };
}

/** The requests that no capture holds, in the words by which they are known. */
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

test('a person who talks about titles, summaries or cron is in the main line', () => {
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
