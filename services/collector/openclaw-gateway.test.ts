import { expect, test } from 'vitest';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { assistant, callsTool, interaction, sessionEnded, toolResult, user } from './testing/events.ts';
import {
  compacted,
  context,
  date,
  first,
  follow,
  mine,
  rules,
  runtime,
  said,
} from './testing/openclaw-gateway.ts';

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
