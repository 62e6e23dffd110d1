import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { assistant, interaction, system, user } from './testing/events.ts';
import {
  compacted,
  context,
  date,
  dated,
  first,
  follow,
  rules,
  runtime,
  runtimeLine,
  summary,
  trace,
} from './testing/openclaw-gateway.ts';

type Line = (session: string, id: string) => string | undefined;

/** A conversation of two turns, its memory flush, its compaction, and two turns after it. */
const compaction = (line: Line): readonly ClawLoopEvent[] => {
  const hello = (session: string, id: string) => [
    rules,
    first('Hello, my favourite colour is teal.', line(session, id)),
  ];
  const opening = (session: string, id: string) => [
    ...hello(session, id),
    assistant('Noted: teal.'),
    dated('And what goes with it, please?'),
  ];
  return [
    interaction({
      id: 'a',
      traceparent: trace('a'),
      messages: [...hello('chat-a', 'sid-a'), context],
      answer: 'Noted: teal.',
    }),
    interaction({
      id: 'b',
      at: 1,
      traceparent: trace('b'),
      messages: [...opening('chat-a', 'sid-a'), context],
      answer: 'Coral goes with teal.',
    }),
    interaction({
      id: 'flush',
      at: 2,
      traceparent: trace('b'),
      messages: [
        ...opening('internal-session-effects:u-h', 'internal-session-effects-u-h'),
        assistant('Coral goes with teal.'),
        user('Pre-compaction memory flush. Keep what matters.'),
      ],
      answer: 'NO_REPLY',
    }),
    interaction({
      id: 'summary',
      at: 3,
      traceparent: trace('c'),
      messages: [
        system('You are a context summarization assistant. Summarize.'),
        user(
          '<conversation>\n[User]: Hello, my favourite colour is teal.\n[Assistant]: Noted\n</conversation>\n\nSummarize it.',
        ),
      ],
      answer: `## Decisions\n${summary}`,
    }),
    interaction({
      id: 'c',
      at: 4,
      traceparent: trace('d'),
      messages: [
        rules,
        compacted(line('chat-a', 'sid-a')),
        assistant('Coral goes with teal.'),
        dated('No, too bright. Something calm.'),
        context,
      ],
      answer: 'Sand.',
    }),
    interaction({
      id: 'd',
      at: 5,
      traceparent: trace('e'),
      messages: [
        rules,
        compacted(line('chat-a', 'sid-a')),
        assistant('Coral goes with teal.'),
        dated('No, too bright. Something calm.'),
        assistant('Sand.'),
        dated('Good.'),
        context,
      ],
      answer: 'Gladly.',
    }),
  ];
};

test.each([
  ['with its Runtime line', runtime, 'sid-a'],
  ['without a Runtime line', () => undefined, 'chat-a'],
] as const)(
  'a compaction %s: one session before and after, and the turn before it gets its next words',
  (_, line, session) => {
    const { places, lines } = follow(compaction(line));
    expect(places).toEqual({
      a: `${session} conversation`,
      flush: `${session} memory-flush`,
      summary: `${session} compaction`,
      b: `${session} conversation`,
      c: `${session} conversation`,
    });
    expect(lines).toContain('completed b <- [Sat 2026-11-21 17:16 UTC] No, too bright. Something calm.');
    expect(lines).toContain('completed c <- [Sat 2026-11-21 17:16 UTC] Good.');
  },
);

/** A turn, and a request after a compaction that kept its answer. */
const cutAfter = (kept: string, id = 'c') =>
  interaction({
    id,
    at: 4,
    answer: 'You are welcome.',
    messages: [rules, compacted(runtimeLine), assistant(kept), dated('Thanks.')],
  });

test.each([
  ['that two open turns have', 'It is, by about an hour.', 'It is, by about an hour.'],
  ['that is short', 'It is.', 'It was not, I think.'],
])('an answer %s does not identify the turn that a compaction kept', (_, one, other) => {
  const events = [
    interaction({ id: 'a', messages: [rules, first('Is it late?', runtimeLine)], answer: one }),
    interaction({ id: 'b', at: 1, messages: [rules, first('Is it dark?', runtimeLine)], answer: other }),
    cutAfter(one),
  ];
  expect(follow(events).lines).toEqual([]);
});

test('the messages after a compaction continue a turn once', () => {
  const kept = 'It is, by about an hour.';
  const ask = (id: string, at: number) =>
    interaction({ id, at, messages: [rules, first(`Is it late, ${id}?`, runtimeLine)], answer: kept });
  const { lines } = follow([ask('a', 0), cutAfter(kept), ask('b', 5), cutAfter(kept, 'd')]);
  expect(lines).toEqual([`completed a <- ${date}Thanks.`]);
});

test('words common to two conversations do not identify the summarised one', () => {
  const words = 'Hello, my favourite colour is teal.';
  const asks = system('You are a context summarization assistant. Summarize.');
  const events = [
    interaction({ id: 'a', messages: [rules, first(words, runtime('a', 'sid-a'))], answer: 'One.' }),
    interaction({ id: 'b', messages: [rules, first(words, runtime('b', 'sid-b'))], answer: 'Two.' }),
    interaction({ id: 's', messages: [asks, user(`<conversation>\n[User]: ${words}\n`)], answer: 'Teal.' }),
  ];
  expect(follow(events).places).toEqual({ s: '- compaction' });
});

test('a recap belongs to the only conversation with the words that it repeats', () => {
  const recap = (id: string, ...messages: readonly string[]) =>
    interaction({
      id,
      answer: 'They plan a garden.',
      messages: [
        system('Write an Activity recap of it.'),
        user(JSON.stringify({ previousRecap: '', messages, omittedContent: false })),
      ],
    });
  const { places } = follow([
    interaction({
      id: 'a',
      answer: 'Then roses by the wall.',
      messages: [rules, first('The garden needs a plan.', runtimeLine)],
    }),
    recap('recap', 'user: The garden needs a plan.', 'assistant: Something else altogether.'),
    recap('recap-of-answer', 'assistant: Then roses by the wall.'),
    recap('recap-of-another', 'user: The kitchen needs a plan.', 'assistant: It does.'),
  ]);
  expect(places).toEqual({
    recap: 'sid-a recap',
    'recap-of-answer': 'sid-a recap',
    'recap-of-another': '- recap',
  });
});

test('parts of a summarised history without words go with the part that has them', () => {
  const asks = system('You are a context summarization assistant. Summarize.');
  const part = (id: string, text: string) =>
    interaction({
      id,
      traceparent: trace('c'),
      answer: '## Decisions\nNothing of note was decided.',
      messages: [asks, user(`<conversation>\n${text}\n</conversation>`)],
    });
  const { places } = follow([
    interaction({
      id: 'a',
      traceparent: trace('a'),
      messages: [rules, first('The garden needs a plan.', runtimeLine)],
      answer: 'Then roses by the wall.',
    }),
    part('words', '[User]: The garden needs a plan.'),
    part('tools', '[Assistant tool calls]: read(path="list")\n\n[Tool result]: a line'),
  ]);
  expect(places).toEqual({ words: 'sid-a compaction', tools: 'sid-a compaction' });
});
