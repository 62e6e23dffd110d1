import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { SessionIndex } from './session-index.ts';

/** The fields of an event that the index reads. */
const event = (type: ClawLoopEvent['type'], id: string, data: object): ClawLoopEvent =>
  ({ type, id, data }) as unknown as ClawLoopEvent;
const started = (session: string, settle = 'reward') =>
  event('session.started', `${session}/started`, { session, settle, task: `task of ${session}` });
const asked = (id: string, session: string, settle = 'reward') =>
  event('interaction.completed', id, { session, settle });
const ended = (session: string, id = `${session}/ended`) => event('session.ended', id, { session });
const completed = (turnId: string, session: string, epoch = 'e') =>
  event('turn.completed', `${turnId}/completed`, { turnId, session, epoch });
const skipped = (turnId: string, session: string, reason: string, epoch = 'e') =>
  event('turn.skipped', `${turnId}/skipped`, { turnId, session, epoch, reason });
const earned = (turnId: string) =>
  event('turn.feedback', `${turnId}/return`, { turnId, return: { own: 1, parent: null, discount: 1 } });
const closed = (session: string, more: object = {}) =>
  event('session.closed', `${session}/closed`, { session, epoch: 'e', by: `${session}/ended`, ...more });

function indexOf(...events: readonly ClawLoopEvent[]) {
  const index = new SessionIndex();
  for (const [offset, entry] of events.entries()) index.on(entry, { partition: 0, offset });
  return index;
}
const conversation = [started('s'), asked('a', 's'), asked('t', 's'), asked('b', 's'), ended('s')];
const judged = [
  completed('a', 's'),
  skipped('t', 's', 'side'),
  completed('b', 's'),
  earned('a'),
  earned('b'),
];

test('a session lists its turns in order, with place, reason and return', () => {
  const index = indexOf(...conversation, ...judged.toReversed().slice(2), ...judged.slice(3), closed('s'));
  expect(index.takeEnded()).toEqual([
    {
      session: 's',
      task: 'task of s',
      discarded: false,
      turns: [
        { id: 'a', at: { partition: 0, offset: 1 }, reason: null, earned: expect.anything() },
        { id: 't', at: { partition: 0, offset: 2 }, reason: 'side', earned: undefined },
        { id: 'b', at: { partition: 0, offset: 3 }, reason: null, earned: expect.anything() },
      ],
    },
  ]);
  expect(index.takeEnded()).toEqual([]);
  expect(index.open()).toEqual([]);
});

test('sessions come in order of their end, whichever partition was read first', () => {
  const index = new SessionIndex();
  const end = (session: string, time: string) => {
    for (const entry of [started(session), ended(session), { ...closed(session), time }])
      index.on(entry as ClawLoopEvent, { partition: 0, offset: 0 });
  };
  end('second', '2026-01-01T00:00:02.000Z');
  end('first', '2026-01-01T00:00:01.000Z');
  end('third', '2026-01-01T00:00:03.000Z');
  expect(index.takeEnded().map(({ session }) => session)).toEqual(['first', 'second', 'third']);
});

test('a session has ended once both topics say so, in either order', () => {
  const index = new SessionIndex();
  const at = { partition: 0, offset: 0 };
  for (const entry of [...judged, closed('s'), ...conversation.slice(0, -1)]) index.on(entry, at);
  expect(index.takeEnded()).toEqual([]);
  expect(index.open()).toEqual(['s']);
  index.on(conversation.at(-1)!, at);
  expect(index.takeEnded().map(({ turns }) => turns.length)).toEqual([3]);
});

test('sessions settled by votes are left out; discarded ones are marked', () => {
  const index = indexOf(
    started('v', 'votes'),
    asked('x', 'v', 'votes'),
    completed('x', 'v'),
    ended('v'),
    closed('v'),
    started('d'),
    ended('d'),
    closed('d', { discard: true }),
    started('o'),
  );
  expect(index.takeEnded()).toMatchObject([{ session: 'd', discarded: true, turns: [] }]);
  expect(index.open()).toEqual(['o']);
});

test('turns after an end form another part of the same session', () => {
  const index = indexOf(...conversation, ...judged, closed('s'), asked('c', 's'), completed('c', 's', 'e2'));
  expect(index.takeEnded().map(({ turns }) => turns.map(({ id }) => id))).toEqual([['a', 't', 'b']]);
  index.on(ended('s', 'again'), { partition: 0, offset: 99 });
  index.on(closed('s', { epoch: 'e2', by: 'again' }), { partition: 0, offset: 99 });
  expect(index.takeEnded().map(({ turns }) => turns.map(({ id }) => id))).toEqual([['c']]);
});

test('a deleted turn has that reason, whatever its earlier outcome', () => {
  const withdrawn = (turnId: string) =>
    event('turn.withdrawn', `${turnId}/withdrawn`, { turnId, reason: 'deleted' });
  const index = indexOf(
    ...conversation,
    ...judged,
    withdrawn('a'),
    withdrawn('t'),
    withdrawn('x'),
    closed('s'),
  );
  const [session] = index.takeEnded();
  expect(session!.turns.map(({ id, reason }) => [id, reason])).toEqual([
    ['a', 'deleted'],
    ['t', 'deleted'],
    ['b', null],
  ]);
});

test('the latest ended sessions are remembered with their task', () => {
  const index = new SessionIndex({ maxEnded: 2 });
  const at = { partition: 0, offset: 0 };
  const later = (session: string, id: string) => {
    const close = closed(session, { epoch: id, by: id });
    for (const entry of [asked(id, session), completed(id, session, id), ended(session, id), close])
      index.on(entry, at);
    return index.takeEnded().map(({ task, turns }) => [task, turns.length]);
  };
  index.on(started('open'), at);
  for (let n = 0; n < 50; n++) {
    index.on(started(`s${n}`), at);
    expect(later(`s${n}`, `turn-${n}`)).toEqual([[`task of s${n}`, 1]]);
  }
  expect(index.size()).toBe(3); // the open one, and two that ended
  expect(index.open()).toEqual(['open']);
  expect(later('s49', 'more')).toEqual([['task of s49', 1]]);
  expect(later('s0', 'long after')).toEqual([[null, 1]]);
  expect(index.size()).toBe(3);
});

test('turns that are settled by votes are not remembered', () => {
  const index = new SessionIndex();
  for (let n = 0; n < 50; n++) {
    const { type, id, data } = completed(`turn-${n}`, 's', 'first');
    index.on(event(type, id, { ...data, settle: 'votes' }), { partition: 0, offset: n });
  }
  expect(index.size()).toBe(0);
});
