import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { attribute } from './attribute.ts';
import {
  assistant,
  callsTool,
  interaction,
  sessionEnded,
  system,
  toolResult,
  user,
} from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';

/** What OpenClaw's gateway does beside a conversation, in the shapes in which it was seen to send them. */
const rules = system('You help a person with whatever comes up at home and at work.');
const date = '[Sat 2026-11-21 17:16 UTC] ';
const runtime = (session: string, id?: string) =>
  `Runtime: agent=main | session=agent:main:${session} |${id === undefined ? '' : ` sessionId=${id} |`} model=tier/m`;
/** the line of the conversation that most of these tests are about */
const mine = runtime('chat-a', 'sid-a');
const said = (words: string) => user(`${date}${words}`);
const first = (words: string, line: string | undefined = '') => user(`${date}${words}\n\n${line}`.trimEnd());
const context: ChatMessage = {
  role: 'user',
  content: [
    {
      type: 'text',
      text: '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
    },
  ],
};
const trace = (digit: string) => `00-${digit.repeat(32)}-${'1'.repeat(16)}-01`;

/** `session rule (how it was found)` by interaction, and what came out, in order. */
function follow(events: readonly ClawLoopEvent[]) {
  const { emitted, rows } = runFold(attribute, events, undefined);
  const places = Object.fromEntries(
    emitted.flatMap(({ type, data }) =>
      type === 'turn.completed' || type === 'turn.skipped'
        ? [[data.turnId, `${data.session ?? '-'} ${data.rule}`]]
        : [],
    ),
  );
  return { places, told: emitted.map(brief), rows };
}

const summary = 'The person likes teal and asked what goes with it.';
const compacted = (line: string | undefined): ChatMessage => ({
  role: 'user',
  content: [
    {
      type: 'text',
      text: `The conversation history before this point was compacted into the following summary:\n\n<summary>\n## Decisions\nNothing was decided yet.\n\n${summary}\n</summary>`,
    },
    ...(line === undefined ? [] : [{ type: 'text', text: line }]),
  ],
});

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
    said('And what goes with it, please?'),
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
        said('No, too bright. Something calm.'),
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
        said('No, too bright. Something calm.'),
        assistant('Sand.'),
        said('Good.'),
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
    const { places, told } = follow(compaction(line));
    expect(places).toEqual({
      a: `${session} conversation`,
      flush: `${session} memory-flush`,
      summary: `${session} compaction`,
      b: `${session} conversation`,
      c: `${session} conversation`,
    });
    expect(told).toContain('completed b <- [Sat 2026-11-21 17:16 UTC] No, too bright. Something calm.');
    expect(told).toContain('completed c <- [Sat 2026-11-21 17:16 UTC] Good.');
  },
);

/** A turn, and what a request shows after a compaction that kept its answer. */
const cutAfter = (kept: string, id = 'c') =>
  interaction({
    ...{ id, at: 4, answer: 'You are welcome.' },
    messages: [rules, compacted(mine), assistant(kept), said('Thanks.')],
  });

test.each([
  ['that two open turns have', 'It is, by about an hour.', 'It is, by about an hour.'],
  ['that is short', 'It is.', 'It was not, I think.'],
])('an answer %s does not tell which turn a compaction kept', (_, one, other) => {
  const events = [
    interaction({ id: 'a', messages: [rules, first('Is it late?', mine)], answer: one }),
    interaction({ id: 'b', at: 1, messages: [rules, first('Is it dark?', mine)], answer: other }),
    cutAfter(one),
  ];
  expect(follow(events).told).toEqual([]);
});

test('what follows a compaction continues a turn once', () => {
  const kept = 'It is, by about an hour.';
  const ask = (id: string, at: number) =>
    interaction({ id, at, messages: [rules, first(`Is it late, ${id}?`, mine)], answer: kept });
  const { told } = follow([ask('a', 0), cutAfter(kept), ask('b', 5), cutAfter(kept, 'd')]);
  expect(told).toEqual([`completed a <- ${date}Thanks.`]);
});

test('words that two conversations have in common do not tell which of them is summarised', () => {
  const words = 'Hello, my favourite colour is teal.';
  const asks = system('You are a context summarization assistant. Summarize.');
  const events = [
    interaction({ id: 'a', messages: [rules, first(words, runtime('a', 'sid-a'))], answer: 'One.' }),
    interaction({ id: 'b', messages: [rules, first(words, runtime('b', 'sid-b'))], answer: 'Two.' }),
    interaction({ id: 's', messages: [asks, user(`<conversation>\n[User]: ${words}\n`)], answer: 'Teal.' }),
  ];
  expect(follow(events).places).toEqual({ s: '- compaction' });
});

test('a tool loop that broke off after a result and is tried again is one turn, and nobody spoke', () => {
  const loop = [rules, first('Run it.', mine), callsTool('exec'), toolResult('ran')];
  const again = said(
    'Continue the current task from the existing transcript, preserving completed work. And so on.',
  );
  const { told } = follow([
    interaction({ id: 'a', messages: [rules, first('Run it.', mine), context], answer: callsTool('exec') }),
    interaction({ id: 'b', messages: [...loop, context], answer: '', finishReason: 'aborted' }),
    interaction({ id: 'c', messages: [...loop, again, context], answer: 'It ran.' }),
    interaction({ id: 'd', messages: [...loop, assistant('It ran.'), said('Thanks.')], answer: 'Sure.' }),
  ]);
  expect(told).toEqual([
    'completed a <- ran',
    'skipped b: aborted',
    'completed c <- [Sat 2026-11-21 17:16 UTC] Thanks.',
  ]);
});

test("heartbeat and cron in the main session: side requests, and their later replays are nobody's words", () => {
  const line = runtime('main', 'sid-m');
  const woken = [rules, first('[OpenClaw cron wake]', line), assistant('Watered.')];
  const talk = [...woken, said('Remember the milk.'), assistant('I will.')];
  const polled = [...talk, said('[OpenClaw heartbeat poll]'), assistant('NO_REPLY'), said('Thanks.')];
  const { places, told } = follow([
    interaction({
      id: 'cron',
      messages: [rules, user(`A scheduled reminder has been triggered. Water.\n\n${line}`), context],
      answer: 'Watered.',
    }),
    interaction({ id: 'a', messages: [...woken, said('Remember the milk.'), context], answer: 'I will.' }),
    interaction({
      id: 'poll',
      messages: [...talk, user('Follow the heartbeat monitor scratch context when provided.'), context],
      answer: 'NO_REPLY',
    }),
    interaction({ id: 'b', messages: [...polled, context], answer: 'Sure.' }),
    interaction({ id: 'c', messages: [...polled, assistant('Sure.'), said('Bye.')], answer: 'Bye.' }),
  ]);
  expect(places).toEqual({
    cron: 'sid-m cron',
    poll: 'sid-m heartbeat',
    b: 'sid-m conversation',
  });
  expect(told).toContain('completed b <- [Sat 2026-11-21 17:16 UTC] Bye.');
});

test('a job or an agent of an agent stays one after its history was compacted, and while it uses tools', () => {
  const cron = runtime('cron:1');
  const child = runtime('subagent:2', 'sid-c');
  const { places } = follow([
    interaction({
      id: 'cron',
      messages: [rules, user(`[cron:1 morning] say it\n\n${cron}`), callsTool('x'), toolResult('y'), context],
      answer: 'Good morning.',
    }),
    interaction({ id: 'cron-cut', messages: [rules, compacted(cron), said('go on')], answer: 'Good.' }),
    interaction({ id: 'child', messages: [rules, first('[Subagent Context] Count.', child)], answer: '1' }),
    interaction({ id: 'child-cut', messages: [rules, compacted(child), toolResult('y')], answer: '2' }),
  ]);
  expect(places).toEqual({
    cron: '- cron',
    'cron-cut': '- cron',
    child: 'sid-c subagent',
    'child-cut': 'sid-c subagent',
  });
});

test('a repair belongs to its session, and the talk goes on after it', () => {
  const asked = [rules, first('Think hard.', mine)];
  const { places } = follow([
    interaction({ id: 'a', messages: [...asked, context], answer: '' }),
    interaction({
      id: 'repair',
      messages: [
        ...asked,
        said('The previous assistant turn recorded reasoning but did not go on.'),
        context,
      ],
      answer: 'Done.',
    }),
    interaction({ id: 'b', messages: [...asked, assistant('Done.'), said('Fine.')], answer: 'Good.' }),
    interaction({
      id: 'c',
      messages: [...asked, assistant('Done.'), said('Fine.'), assistant('Good.'), said('Bye.')],
      answer: 'Bye.',
    }),
  ]);
  expect(places).toEqual({
    a: 'sid-a empty',
    repair: 'sid-a repair',
    b: 'sid-a conversation',
  });
});

test("a heartbeat keeps no session open, and opens none again; a person's words do", () => {
  const beat = (id: string, at: number) =>
    interaction({
      ...{ id, at, answer: 'NO_REPLY' },
      messages: [rules, first('Hi.', mine), assistant('Hello.'), user('Follow the heartbeat monitor now.')],
    });
  const idle = (id: string, at: number) => sessionEnded({ id, at }, 'sid-a', { epoch: 'a', last: 'a' });
  const { told, rows } = follow([
    interaction({ id: 'a', messages: [rules, first('Hi.', mine)], answer: 'Hello.' }),
    beat('beat-1', 30),
    idle('idle', 60),
    beat('beat-2', 90),
  ]);
  expect(told).toEqual([
    'skipped beat-1: side',
    'skipped a: no-next-state',
    'closed sid-a',
    'skipped beat-2: side',
  ]);
  expect(rows.get('lane')!.get('session/key/sid-a')).toMatchObject({ open: false, epoch: 'a', last: 'a' });
});

test('a heartbeat that comes long after the end of its session, and twice, counts once', () => {
  const beat = interaction({
    ...{ id: 'beat', at: 5_000, answer: 'NO_REPLY' },
    messages: [rules, first('Hi.', mine), assistant('Hello.'), user('Follow the heartbeat monitor now.')],
  });
  const { told } = follow([
    interaction({ id: 'a', messages: [rules, first('Hi.', mine)], answer: 'Hello.' }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
    beat,
    interaction({ id: 'b', at: 5_100, messages: [first('Bye.', runtime('b', 'sid-b'))], answer: 'Bye.' }),
    beat,
  ]);
  expect(told).toEqual(['skipped a: no-next-state', 'closed sid-a', 'skipped beat: side']);
});

test('news of an agent of an agent in the middle of a tool loop: an announcement, and no word on the answer before it', () => {
  const loop = [rules, first('Take in the list.', mine), callsTool('read')];
  const skipped = toolResult('Skipped to process an incoming message.');
  const news = said('[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]\nThree roses.\n[[OPENCLAW_INTERNAL_CONTEXT_END]]');
  const later = user('[Inter-session message] isUser=false\nThree roses.');
  const { places, told } = follow([
    interaction({ id: 'a', messages: [...loop.slice(0, 2), context], answer: callsTool('read') }),
    interaction({ id: 'news', messages: [...loop, skipped, context, news], answer: 'There are three.' }),
    interaction({
      id: 'b',
      messages: [...loop, skipped, later, assistant('There are three.'), said('And now?'), context],
      answer: 'Now we plant.',
    }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
  ]);
  expect(places).toEqual({
    a: 'sid-a conversation',
    news: 'sid-a announce',
    b: 'sid-a conversation',
  });
  expect(told).toContain('skipped a: no-next-state');
});

test('a person who speaks before a tool could run is heard', () => {
  const loop = [rules, first('Take in the list.', mine), callsTool('read')];
  const skipped = toolResult('Skipped to process an incoming message.');
  const { told } = follow([
    interaction({ id: 'a', messages: [...loop.slice(0, 2), context], answer: callsTool('read') }),
    interaction({
      id: 'b',
      messages: [...loop, skipped, said('No, the other list.'), context],
      answer: 'That one, then.',
    }),
  ]);
  expect(told).toEqual([expect.stringContaining('No, the other list.')]);
});

test('a recap belongs to the conversation whose words it repeats; where no other has them', () => {
  const recap = (id: string, ...messages: readonly string[]) =>
    interaction({
      ...{ id, answer: 'They plan a garden.' },
      messages: [
        system('Write an Activity recap of it.'),
        user(JSON.stringify({ previousRecap: '', messages, omittedContent: false })),
      ],
    });
  const { places } = follow([
    interaction({
      ...{ id: 'a', answer: 'Then roses by the wall.' },
      messages: [rules, first('The garden needs a plan.', mine)],
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

test('a history that is summarised in parts: the parts without words go with the one that has them', () => {
  const asks = system('You are a context summarization assistant. Summarize.');
  const part = (id: string, text: string) =>
    interaction({
      ...{ id, traceparent: trace('c'), answer: '## Decisions\nNothing of note was decided.' },
      messages: [asks, user(`<conversation>\n${text}\n</conversation>`)],
    });
  const { places } = follow([
    interaction({
      id: 'a',
      traceparent: trace('a'),
      messages: [rules, first('The garden needs a plan.', mine)],
      answer: 'Then roses by the wall.',
    }),
    part('words', '[User]: The garden needs a plan.'),
    part('tools', '[Assistant tool calls]: read(path="list")\n\n[Tool result]: a line'),
  ]);
  expect(places).toEqual({ words: 'sid-a compaction', tools: 'sid-a compaction' });
});

test("a command that ended behind the talk: its news and their later replay are nobody's words", () => {
  const run = [rules, first('Run it.', mine), assistant('It runs behind us.')];
  const replay = said('[OpenClaw exec completion]\nNothing more.');
  const { places, told } = follow([
    interaction({ id: 'a', messages: [...run.slice(0, 2), context], answer: 'It runs behind us.' }),
    interaction({
      id: 'news',
      messages: [...run, user('An async command completion event was triggered, so look.'), context],
      answer: 'It has ended now.',
    }),
    interaction({
      id: 'b',
      messages: [...run, replay, assistant('It has ended now.'), said('Good.'), context],
      answer: 'Gladly.',
    }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
  ]);
  expect(places).toEqual({ a: 'sid-a conversation', news: 'sid-a announce', b: 'sid-a conversation' });
  expect(told).toContain('skipped a: no-next-state');
});

test('two messages that a client makes one after a person stopped an answer: what follows is of the second answer', () => {
  const stopped = first('Tell it slowly to me.', mine);
  const joined: ChatMessage = {
    role: 'user',
    content: [`${date}Tell it slowly to me.`, 'No, tell it quickly.', mine].map((text) => ({
      type: 'text',
      text,
    })),
  };
  const { told } = follow([
    interaction({
      ...{ id: 'a', messages: [rules, stopped, context], answer: 'Once upon' },
      ...{ finishReason: 'aborted', disconnected: true },
    }),
    interaction({
      id: 'b',
      messages: [rules, stopped, said('No, tell it quickly.'), context],
      answer: 'It ended well in the end.',
    }),
    interaction({
      id: 'c',
      messages: [rules, joined, assistant('It ended well in the end.'), said('Thanks for that.'), context],
      answer: 'Gladly.',
    }),
  ]);
  expect(told).toEqual(['skipped a: aborted', `completed b <- ${date}Thanks for that.`]);
});

test('what another agent sends is a side request, and tells nothing of the answer before it', () => {
  const talk = [rules, first('Tell the others.', mine), assistant('I told the others.')];
  const beside = user(
    '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n[Inter-session message] isUser=false\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
  );
  const { places, told } = follow([
    interaction({ id: 'a', messages: [...talk.slice(0, 2), context], answer: 'I told the others.' }),
    interaction({
      id: 'agent',
      messages: [...talk, said('Perfect, thanks, the others know.'), beside],
      answer: 'Good to hear.',
    }),
    interaction({
      id: 'b',
      messages: [
        ...talk,
        user('[Inter-session message] isUser=false\nPerfect, thanks, the others know.'),
        assistant('Good to hear.'),
        said('And what did they say?'),
        context,
      ],
      answer: 'Perfect, thanks.',
    }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
  ]);
  expect(places).toEqual({
    a: 'sid-a conversation',
    agent: 'sid-a agent-message',
    b: 'sid-a conversation',
  });
  expect(told).toContain('skipped a: no-next-state');
});
