import { expect, test } from 'vitest';
import { hasLessThanItsShare, lackOfRoom, type Occupancy, type OpenSession, PATIENCE_MS } from './room.ts';

const limits = { maxSessions: 30, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 };
const many = (count: number, more: Partial<OpenSession> = {}): readonly OpenSession[] =>
  Array.from({ length: count }, () => ({
    ...{ answers: 0, task: 'other', rewarded: false, age: 0, openMs: 0, quietMs: 0 },
    ...more,
  }));
const none = { sessions: [], single: 0 };
const lack = (more: Partial<Occupancy>, most: Partial<typeof limits> = {}, ending?: number) =>
  lackOfRoom(
    { ...limits, ...most },
    { open: [], others: 0, waiting: none, trains: false, usual: 1, ...more },
    { task: 'mine', ...(ending === undefined ? {} : { ending }) },
  );

test('what is open and what waits makes as many versions as a sample may be old', () => {
  expect(lack({ open: many(5), waiting: { ...none, single: 3 } })).toBeUndefined();
  expect(lack({ open: many(5), waiting: { ...none, single: 5 } })).toBe('staleness');
  expect(lack({ waiting: { ...none, single: 9 } })).toBeUndefined();
  expect(lack({ waiting: { ...none, single: 10 } })).toBe('staleness');
  expect(lack({ open: many(5) }, { maxSessions: 5 })).toBe('sessions');
  expect(lack({ open: many(2), others: 3 }, { maxSessions: 5 })).toBe('sessions');
  expect(lack({ others: 20 })).toBeUndefined();
});

test('a session makes one version at most, by what it has answered or usually would', () => {
  expect(lack({ open: many(4), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(5), usual: 3 })).toBe('staleness');
  expect(lack({ open: many(5, { answers: 2 }), usual: 1 })).toBe('staleness');
  expect(lack({ waiting: { sessions: [7, 7, 7, 7], single: 0 }, usual: 3 })).toBeUndefined();
  expect(lack({ waiting: { sessions: [7, 7, 7, 7, 7], single: 0 }, usual: 3 })).toBe('staleness');
  const ofSixteen = { batchSize: 16 };
  expect(lack({ open: many(26), usual: 3 }, ofSixteen)).toBeUndefined();
  expect(lack({ open: many(27), usual: 3 }, ofSixteen)).toBe('staleness');
});

test('nobody overtakes a session whose first answer would grow too old, but other attempts at its task', () => {
  const old = many(1, { age: 3 });
  expect(lack({ open: [...old, ...many(1, { task: 'third' })], usual: 3 })).toBe('staleness');
  expect(lack({ open: old, usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: 4 }), usual: 3 })).toBe('staleness');
  expect(lack({ open: many(1, { age: 4, task: 'mine' }), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: undefined }), usual: 3 })).toBeUndefined(); // it is too late for it
  expect(lack({ open: many(1, { age: 4, openMs: PATIENCE_MS }), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: 4, quietMs: PATIENCE_MS }), usual: 3 })).toBeUndefined();
});

test('rewarded attempts at the same task do not age while nothing waits or trains, so others may begin', () => {
  const open = many(5, { answers: 3, rewarded: true, task: 'mine' });
  const held = { open, usual: 3 };
  expect(lack(held)).toBeUndefined();
  expect(lack({ ...held, trains: true })).toBe('staleness');
  expect(lack({ ...held, waiting: { ...none, single: 2 } })).toBe('staleness');
  expect(lack({ ...held, waiting: { ...none, single: 1 } })).toBeUndefined();
  expect(lack({ ...held, open: many(5, { answers: 3, rewarded: true }) })).toBe('staleness');
  expect(lack({ ...held, open: many(5, { answers: 3, task: 'mine' }) })).toBe('staleness');
  const asManyAsTheLargestTake = many(20, { answers: 4, rewarded: true, task: 'mine' });
  expect(lack({ open: asManyAsTheLargestTake, usual: 4 })).toBe('staleness');
});

test('a session that is quiet for long takes no room', () => {
  const left = many(20, { answers: 3, quietMs: PATIENCE_MS });
  expect(lack({ open: left, usual: 3 })).toBeUndefined();
  expect(lack({ open: left, usual: 3 }, { maxSessions: 20 })).toBe('sessions');
});

test('a session that ends for another one leaves its place, but not that of its samples', () => {
  const waiting = { ...none, single: 9 };
  expect(lack({ waiting }, {}, 0)).toBeUndefined();
  expect(lack({ waiting }, {}, 1)).toBe('staleness');
});

test('a key that has less than its share of the room may begin, and one alone has no share', () => {
  const lessOf = (more: Partial<Parameters<typeof hasLessThanItsShare>[1]>, usual = 2) =>
    hasLessThanItsShare(limits, { open: [], waiting: [], keys: 2, ...more }, usual);
  expect([lessOf({}), lessOf({ keys: 1 }), lessOf({ keys: 10 })]).toEqual([true, false, true]);
  expect([lessOf({ open: many(2) }), lessOf({ open: many(3) })]).toEqual([true, false]);
  expect([lessOf({ waiting: [7, 7] }), lessOf({ waiting: [7, 7, 1] })]).toEqual([true, false]);
  expect(lessOf({ open: many(1), keys: 5 })).toBe(false);
  expect(lessOf({ open: many(1), keys: 5 }, 1)).toBe(true);
});
