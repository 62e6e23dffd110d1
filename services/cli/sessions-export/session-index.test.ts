import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { createSessionIndex } from './session-index.ts';

/** Just what the index reads of an event. */
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
  const index = createSessionIndex();
  for (const [offset, one] of events.entries()) index.on(one, { partition: 0, offset });
  return index;
}
const said = [started('s'), asked('a', 's'), asked('t', 's'), asked('b', 's'), ended('s')];
const judged = [
  completed('a', 's'),
  skipped('t', 's', 'side'),
  completed('b', 's'),
  earned('a'),
  earned('b'),
];

test('a session has its turns in order of arrival, each with its place, its reason and its return', () => {
  const index = indexOf(...said, ...judged.toReversed().slice(2), ...judged.slice(3), closed('s'));
  expect(index.takeEnded()).toEqual([
    {
      ...{ session: 's', task: 'task of s', discarded: false },
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

test('it has ended when both topics have told so, whichever is read first', () => {
  const index = createSessionIndex();
  const at = { partition: 0, offset: 0 };
  for (const one of [...judged, closed('s'), ...said.slice(0, -1)]) index.on(one, at);
  expect(index.takeEnded()).toEqual([]);
  expect(index.open()).toEqual(['s']);
  index.on(said.at(-1)!, at);
  expect(index.takeEnded().map(({ turns }) => turns.length)).toEqual([3]);
});

test('sessions that are settled by votes are none of it, and one that was taken back says so', () => {
  const index = indexOf(
    ...[started('v', 'votes'), asked('x', 'v', 'votes'), completed('x', 'v'), ended('v'), closed('v')],
    ...[started('d'), ended('d'), closed('d', { discard: true })],
    started('o'),
  );
  expect(index.takeEnded()).toMatchObject([{ session: 'd', discarded: true, turns: [] }]);
  expect(index.open()).toEqual(['o']);
});

test('what goes on after its end is another part of the same session', () => {
  const index = indexOf(...said, ...judged, closed('s'), asked('c', 's'), completed('c', 's', 'e2'));
  expect(index.takeEnded().map(({ turns }) => turns.map(({ id }) => id))).toEqual([['a', 't', 'b']]);
  index.on(ended('s', 'again'), { partition: 0, offset: 99 });
  index.on(closed('s', { epoch: 'e2', by: 'again' }), { partition: 0, offset: 99 });
  expect(index.takeEnded().map(({ turns }) => turns.map(({ id }) => id))).toEqual([['c']]);
});

test('what was deleted says so, whatever had become of it: there is a line of what was skipped, too', () => {
  const withdrawn = (turnId: string) =>
    event('turn.withdrawn', `${turnId}/withdrawn`, { turnId, reason: 'deleted' });
  const index = indexOf(...said, ...judged, withdrawn('a'), withdrawn('t'), withdrawn('x'), closed('s'));
  const [session] = index.takeEnded();
  expect(session!.turns.map(({ id, reason }) => [id, reason])).toEqual([
    ['a', 'deleted'],
    ['t', 'deleted'],
    ['b', null],
  ]);
});

test('of the sessions that ended the latest are known, and the task of one of them that goes on', () => {
  const index = createSessionIndex({ most: 2 });
  const at = { partition: 0, offset: 0 };
  const later = (session: string, id: string) => {
    const close = closed(session, { epoch: id, by: id });
    for (const one of [asked(id, session), completed(id, session, id), ended(session, id), close])
      index.on(one, at);
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
