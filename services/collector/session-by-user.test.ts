import { expect, test } from 'vitest';
import { attribute } from './attribute.ts';
import { assistant, interaction, sessionEnded, system, user } from './testing/events.ts';
import { runFold } from './testing/run-fold.ts';

const begins = interaction({ id: 'a', user: 'ann', messages: [user('hi')], answer: 'hello' });
/** A client that sends only the latest messages. */
const cut = [assistant('as I said'), user('and tomorrow?')];
const goesOn = [...cut, assistant('rain'), user('thanks')];
const next = interaction({ id: 'z', messages: goesOn, answer: 'welcome' });
const placeOf = (events: Parameters<typeof runFold>[1], turn: string) => {
  const { emitted } = runFold(attribute, events, {});
  const completed = emitted.find(({ id }) => id === `${turn}/completed`);
  return completed?.type === 'turn.completed'
    ? [completed.data.session, completed.data.sessionBy]
    : undefined;
};

test('a request with an unknown history continues where its user was last active', () => {
  const b = interaction({ id: 'b', user: 'ann', messages: cut, answer: 'rain' });
  expect(placeOf([begins, b, next], 'b')).toEqual(['chat-a', 'user']);
});

test('content and headers come first, and other users are different people', () => {
  const known = interaction({
    id: 'b',
    user: 'bob',
    answer: 'rain',
    messages: [user('hi'), assistant('hello'), ...cut],
  });
  const after = interaction({
    id: 'z',
    messages: [...known.data.messages, assistant('rain'), user('thanks')],
    answer: 'welcome',
  });
  expect(placeOf([begins, known, after], 'b')).toEqual(['chat-a', 'history']);
  const bobs = interaction({ id: 'b', user: 'bob', messages: cut, answer: 'rain' });
  expect(placeOf([begins, bobs, next], 'b')).toEqual(['chat-b', 'new']);
  const named = interaction({ id: 'b', user: 'ann', session: 's', messages: cut, answer: 'rain' });
  expect(placeOf([begins, named, next], 'b')).toEqual(['s', 'explicit']);
});

test('it joins no new conversation, no other agent and no ended session', () => {
  const fresh = interaction({ id: 'b', user: 'ann', messages: [user('something else')], answer: 'rain' });
  const then = [user('something else'), assistant('rain'), user('thanks')];
  const more = interaction({ id: 'z', messages: then, answer: 'welcome' });
  expect(placeOf([begins, fresh, more], 'b')).toEqual(['chat-b', 'new']);
  const agent = system('You write titles for conversations, in five words at most.');
  const other = interaction({ id: 'b', user: 'ann', messages: [agent, ...cut], answer: 'rain' });
  const itsNext = interaction({ id: 'z', messages: [agent, ...goesOn], answer: 'welcome' });
  expect(placeOf([begins, other, itsNext], 'b')).toEqual(['chat-b', 'new']);
  const again = interaction({ id: 'b', user: 'ann', messages: cut, answer: 'rain' });
  expect(placeOf([begins, sessionEnded({ id: 'end' }, 'chat-a'), again, next], 'b')).toEqual([
    'chat-b',
    'new',
  ]);
});
