import { expect, test } from 'vitest';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { attribute } from './attribute.ts';
import { assistant, interaction, sessionEnded, timeAt, user } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const hello = interaction({ id: 'a', messages: [user('hi')], answer: 'hello' });
const more = interaction({
  id: 'b',
  at: 1,
  answer: 'well',
  messages: [user('hi'), assistant('hello'), user('and?')],
});
const opened = (events: Parameters<typeof runFold>[1], settings = { tellsOpened: true }) =>
  runFold(attribute, events, settings).emitted.flatMap(({ type, id, data }) =>
    type === 'session.opened' ? [[id, data.session, data.key]] : [],
  );

test('an epoch is reported once, when it begins, even if the session was found by content', () => {
  const again = interaction({
    id: 'c',
    at: 3,
    answer: 'good',
    messages: [user('hi'), assistant('hello'), user('and?'), assistant('well'), user('so?')],
  });
  expect(opened([hello, more, sessionEnded({ id: 'e', at: 2 }, 'chat-a'), again])).toEqual([
    ['chat-a@a/opened', 'chat-a', 'key'],
    ['chat-a@c/opened', 'chat-a', 'key'],
  ]);
});

test('a session started through the API is reported before its first request', () => {
  const started = SessionStarted.create({
    id: 's/started',
    source: 'clawloop/test',
    time: timeAt(0),
    data: { lane: 'lane', key: 'key', session: 's', settle: 'reward' },
  });
  const request = interaction({
    id: 'a',
    at: 1,
    session: 's',
    settle: 'reward',
    messages: [user('hi')],
    answer: 'x',
  });
  expect(opened([started, request])).toEqual([['s@s/started/opened', 's', 'key']]);
});

test('a side request without a session opens none', () => {
  const title = interaction({ id: 't', turnType: 'side', messages: [user('hi')], answer: 'Eggs' });
  expect(opened([title])).toEqual([]);
});

test('without the setting nothing is reported', () => {
  expect(runFold(attribute, [hello], {}).emitted).toEqual([]);
});
