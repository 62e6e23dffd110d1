import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { assistant, callsTool, interaction, sessionEnded, toolResult, user } from './testing/events.ts';
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
} from './testing/openclaw-gateway.ts';

test('a tool loop that is retried after a result is one turn, without user words', () => {
  const loop = [rules, first('Run it.', runtimeLine), callsTool('exec'), toolResult('ran')];
  const again = dated(
    'Continue the current task from the existing transcript, preserving completed work. And so on.',
  );
  const { lines } = follow([
    interaction({
      id: 'a',
      messages: [rules, first('Run it.', runtimeLine), context],
      answer: callsTool('exec'),
    }),
    interaction({ id: 'b', messages: [...loop, context], answer: '', finishReason: 'aborted' }),
    interaction({ id: 'c', messages: [...loop, again, context], answer: 'It ran.' }),
    interaction({
      id: 'd',
      messages: [...loop, assistant('It ran.'), dated('Thanks.')],
      answer: 'Sure.',
    }),
  ]);
  expect(lines).toEqual([
    'completed a <- ran',
    'skipped b: aborted',
    'completed c <- [Sat 2026-11-21 17:16 UTC] Thanks.',
  ]);
});

test('heartbeat and cron in the main session are side requests, and their replays are not user words', () => {
  const line = runtime('main', 'sid-m');
  const woken = [rules, first('[OpenClaw cron wake]', line), assistant('Watered.')];
  const talk = [...woken, dated('Remember the milk.'), assistant('I will.')];
  const polled = [...talk, dated('[OpenClaw heartbeat poll]'), assistant('NO_REPLY'), dated('Thanks.')];
  const { places, lines } = follow([
    interaction({
      id: 'cron',
      messages: [rules, user(`A scheduled reminder has been triggered. Water.\n\n${line}`), context],
      answer: 'Watered.',
    }),
    interaction({
      id: 'a',
      messages: [...woken, dated('Remember the milk.'), context],
      answer: 'I will.',
    }),
    interaction({
      id: 'poll',
      messages: [...talk, user('Follow the heartbeat monitor scratch context when provided.'), context],
      answer: 'NO_REPLY',
    }),
    interaction({ id: 'b', messages: [...polled, context], answer: 'Sure.' }),
    interaction({ id: 'c', messages: [...polled, assistant('Sure.'), dated('Bye.')], answer: 'Bye.' }),
  ]);
  expect(places).toEqual({
    cron: 'sid-m cron',
    poll: 'sid-m heartbeat',
    b: 'sid-m conversation',
  });
  expect(lines).toContain('completed b <- [Sat 2026-11-21 17:16 UTC] Bye.');
});

test('a job or nested agent stays a side request after compaction and during tool use', () => {
  const cron = runtime('cron:1');
  const child = runtime('subagent:2', 'sid-c');
  const { places } = follow([
    interaction({
      id: 'cron',
      messages: [rules, user(`[cron:1 morning] say it\n\n${cron}`), callsTool('x'), toolResult('y'), context],
      answer: 'Good morning.',
    }),
    interaction({
      id: 'cron-cut',
      messages: [rules, compacted(cron), dated('go on')],
      answer: 'Good.',
    }),
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

test('a repair belongs to its session, and the conversation continues after it', () => {
  const history = [rules, first('Think hard.', runtimeLine)];
  const { places } = follow([
    interaction({ id: 'a', messages: [...history, context], answer: '' }),
    interaction({
      id: 'repair',
      messages: [
        ...history,
        dated('The previous assistant turn recorded reasoning but did not go on.'),
        context,
      ],
      answer: 'Done.',
    }),
    interaction({
      id: 'b',
      messages: [...history, assistant('Done.'), dated('Fine.')],
      answer: 'Good.',
    }),
    interaction({
      id: 'c',
      messages: [...history, assistant('Done.'), dated('Fine.'), assistant('Good.'), dated('Bye.')],
      answer: 'Bye.',
    }),
  ]);
  expect(places).toEqual({
    a: 'sid-a empty',
    repair: 'sid-a repair',
    b: 'sid-a conversation',
  });
});

test("a heartbeat neither keeps a session open nor reopens one; a person's words do", () => {
  const beat = (id: string, at: number) =>
    interaction({
      id,
      at,
      answer: 'NO_REPLY',
      messages: [
        rules,
        first('Hi.', runtimeLine),
        assistant('Hello.'),
        user('Follow the heartbeat monitor now.'),
      ],
    });
  const idle = (id: string, at: number) => sessionEnded({ id, at }, 'sid-a', { epoch: 'a', last: 'a' });
  const { lines, rows } = follow([
    interaction({ id: 'a', messages: [rules, first('Hi.', runtimeLine)], answer: 'Hello.' }),
    beat('beat-1', 30),
    idle('idle', 60),
    beat('beat-2', 90),
  ]);
  expect(lines).toEqual([
    'skipped beat-1: side',
    'skipped a: no-next-state',
    'closed sid-a',
    'skipped beat-2: side',
  ]);
  expect(rows.get('lane')!.get('session/key/sid-a')).toMatchObject({ open: false, epoch: 'a', last: 'a' });
});

test("a heartbeat long after its session's end, sent twice, counts once", () => {
  const beat = interaction({
    id: 'beat',
    at: 5_000,
    answer: 'NO_REPLY',
    messages: [
      rules,
      first('Hi.', runtimeLine),
      assistant('Hello.'),
      user('Follow the heartbeat monitor now.'),
    ],
  });
  const { lines } = follow([
    interaction({ id: 'a', messages: [rules, first('Hi.', runtimeLine)], answer: 'Hello.' }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
    beat,
    interaction({ id: 'b', at: 5_100, messages: [first('Bye.', runtime('b', 'sid-b'))], answer: 'Bye.' }),
    beat,
  ]);
  expect(lines).toEqual(['skipped a: no-next-state', 'closed sid-a', 'skipped beat: side']);
});

test('news of a nested agent during a tool loop is an announcement, not evidence', () => {
  const loop = [rules, first('Take in the list.', runtimeLine), callsTool('read')];
  const skipped = toolResult('Skipped to process an incoming message.');
  const news = dated('[[OPENCLAW_INTERNAL_CONTEXT_BEGIN]]\nThree roses.\n[[OPENCLAW_INTERNAL_CONTEXT_END]]');
  const later = user('[Inter-session message] isUser=false\nThree roses.');
  const { places, lines } = follow([
    interaction({ id: 'a', messages: [...loop.slice(0, 2), context], answer: callsTool('read') }),
    interaction({ id: 'news', messages: [...loop, skipped, context, news], answer: 'There are three.' }),
    interaction({
      id: 'b',
      messages: [...loop, skipped, later, assistant('There are three.'), dated('And now?'), context],
      answer: 'Now we plant.',
    }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
  ]);
  expect(places).toEqual({
    a: 'sid-a conversation',
    news: 'sid-a announce',
    b: 'sid-a conversation',
  });
  expect(lines).toContain('skipped a: no-next-state');
});

test('the words of a person who writes before a tool could run count', () => {
  const loop = [rules, first('Take in the list.', runtimeLine), callsTool('read')];
  const skipped = toolResult('Skipped to process an incoming message.');
  const { lines } = follow([
    interaction({ id: 'a', messages: [...loop.slice(0, 2), context], answer: callsTool('read') }),
    interaction({
      id: 'b',
      messages: [...loop, skipped, dated('No, the other list.'), context],
      answer: 'That one, then.',
    }),
  ]);
  expect(lines).toEqual([expect.stringContaining('No, the other list.')]);
});

test('news of a finished background command and their replay are not user words', () => {
  const run = [rules, first('Run it.', runtimeLine), assistant('It runs behind us.')];
  const replay = dated('[OpenClaw exec completion]\nNothing more.');
  const { places, lines } = follow([
    interaction({ id: 'a', messages: [...run.slice(0, 2), context], answer: 'It runs behind us.' }),
    interaction({
      id: 'news',
      messages: [...run, user('An async command completion event was triggered, so look.'), context],
      answer: 'It has ended now.',
    }),
    interaction({
      id: 'b',
      messages: [...run, replay, assistant('It has ended now.'), dated('Good.'), context],
      answer: 'Gladly.',
    }),
    sessionEnded({ id: 'end', at: 1 }, 'sid-a'),
  ]);
  expect(places).toEqual({ a: 'sid-a conversation', news: 'sid-a announce', b: 'sid-a conversation' });
  expect(lines).toContain('skipped a: no-next-state');
});

test('after a client merges two messages, the next state belongs to the second answer', () => {
  const stopped = first('Tell it slowly to me.', runtimeLine);
  const joined: ChatMessage = {
    role: 'user',
    content: [`${date}Tell it slowly to me.`, 'No, tell it quickly.', runtimeLine].map((text) => ({
      type: 'text',
      text,
    })),
  };
  const { lines } = follow([
    interaction({
      id: 'a',
      messages: [rules, stopped, context],
      answer: 'Once upon',
      finishReason: 'aborted',
      disconnected: true,
    }),
    interaction({
      id: 'b',
      messages: [rules, stopped, dated('No, tell it quickly.'), context],
      answer: 'It ended well in the end.',
    }),
    interaction({
      id: 'c',
      messages: [rules, joined, assistant('It ended well in the end.'), dated('Thanks for that.'), context],
      answer: 'Gladly.',
    }),
  ]);
  expect(lines).toEqual(['skipped a: aborted', `completed b <- ${date}Thanks for that.`]);
});

test('a message from another agent is a side request and not evidence', () => {
  const talk = [rules, first('Tell the others.', runtimeLine), assistant('I told the others.')];
  const beside = user(
    '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n[Inter-session message] isUser=false\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>',
  );
  const { places, lines } = follow([
    interaction({ id: 'a', messages: [...talk.slice(0, 2), context], answer: 'I told the others.' }),
    interaction({
      id: 'agent',
      messages: [...talk, dated('Perfect, thanks, the others know.'), beside],
      answer: 'Good to hear.',
    }),
    interaction({
      id: 'b',
      messages: [
        ...talk,
        user('[Inter-session message] isUser=false\nPerfect, thanks, the others know.'),
        assistant('Good to hear.'),
        dated('And what did they say?'),
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
  expect(lines).toContain('skipped a: no-next-state');
});
