import { expect, test } from 'vitest';
import { defined } from '../../../shared/lang/defined.ts';
import { hasLessThanItsShare, lackOfRoom, type Occupancy, type OpenSession, PATIENCE_MS } from './room.ts';

const limits = { maxSessions: 30, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 };
const many = (count: number, more: Partial<OpenSession> = {}): readonly OpenSession[] =>
  Array.from({ length: count }, () => ({
    answers: 0,
    task: 'other',
    rewarded: false,
    age: 0,
    openMs: 0,
    quietMs: 0,
    ...more,
  }));
const none = { sessions: [], single: 0 };
const lack = (more: Partial<Occupancy>, most: Partial<typeof limits> = {}, ending?: number) =>
  lackOfRoom(
    { ...limits, ...most },
    { open: [], others: 0, waiting: none, trains: false, usual: 1, ...more },
    { task: 'mine', ...defined({ ending }) },
  );

test('open sessions and waiting samples fill at most the allowed versions', () => {
  expect(lack({ open: many(5), waiting: { ...none, single: 3 } })).toBeUndefined();
  expect(lack({ open: many(5), waiting: { ...none, single: 5 } })).toBe('staleness');
  expect(lack({ waiting: { ...none, single: 9 } })).toBeUndefined();
  expect(lack({ waiting: { ...none, single: 10 } })).toBe('staleness');
  expect(lack({ open: many(5) }, { maxSessions: 5 })).toBe('sessions');
  expect(lack({ open: many(2), others: 3 }, { maxSessions: 5 })).toBe('sessions');
  expect(lack({ others: 20 })).toBeUndefined();
});

test('a session fills at most one version, by its actual or usual answers', () => {
  expect(lack({ open: many(4), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(5), usual: 3 })).toBe('staleness');
  expect(lack({ open: many(5, { answers: 2 }), usual: 1 })).toBe('staleness');
  expect(lack({ waiting: { sessions: [7, 7, 7, 7], single: 0 }, usual: 3 })).toBeUndefined();
  expect(lack({ waiting: { sessions: [7, 7, 7, 7, 7], single: 0 }, usual: 3 })).toBe('staleness');
  const ofSixteen = { batchSize: 16 };
  expect(lack({ open: many(26), usual: 3 }, ofSixteen)).toBeUndefined();
  expect(lack({ open: many(27), usual: 3 }, ofSixteen)).toBe('staleness');
});

test('only attempts at the same task may overtake a session that would become stale', () => {
  const old = many(1, { age: 3 });
  expect(lack({ open: [...old, ...many(1, { task: 'third' })], usual: 3 })).toBe('staleness');
  expect(lack({ open: old, usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: 4 }), usual: 3 })).toBe('staleness');
  expect(lack({ open: many(1, { age: 4, task: 'mine' }), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: undefined }), usual: 3 })).toBeUndefined(); // it is too late for it
  expect(lack({ open: many(1, { age: 4, openMs: PATIENCE_MS }), usual: 3 })).toBeUndefined();
  expect(lack({ open: many(1, { age: 4, quietMs: PATIENCE_MS }), usual: 3 })).toBeUndefined();
});

test('rewarded attempts at the same task do not block others while nothing trains', () => {
  const open = many(5, { answers: 3, rewarded: true, task: 'mine' });
  const heldOpen = { open, usual: 3 };
  expect(lack(heldOpen)).toBeUndefined();
  expect(lack({ ...heldOpen, trains: true })).toBe('staleness');
  expect(lack({ ...heldOpen, waiting: { ...none, single: 2 } })).toBe('staleness');
  expect(lack({ ...heldOpen, waiting: { ...none, single: 1 } })).toBeUndefined();
  expect(lack({ ...heldOpen, open: many(5, { answers: 3, rewarded: true }) })).toBe('staleness');
  expect(lack({ ...heldOpen, open: many(5, { answers: 3, task: 'mine' }) })).toBe('staleness');
  const asManyAsTheLargestTake = many(20, { answers: 4, rewarded: true, task: 'mine' });
  expect(lack({ open: asManyAsTheLargestTake, usual: 4 })).toBe('staleness');
});

test('a session that has been quiet for long takes no room', () => {
  const left = many(20, { answers: 3, quietMs: PATIENCE_MS });
  expect(lack({ open: left, usual: 3 })).toBeUndefined();
  expect(lack({ open: left, usual: 3 }, { maxSessions: 20 })).toBe('sessions');
});

test('a replaced session frees its place, but its samples still take room', () => {
  const waiting = { ...none, single: 9 };
  expect(lack({ waiting }, {}, 0)).toBeUndefined();
  expect(lack({ waiting }, {}, 1)).toBe('staleness');
});

test('a key below its share may start a session; a single key has no share', () => {
  const lessOf = (more: Partial<Parameters<typeof hasLessThanItsShare>[1]>, usual = 2) =>
    hasLessThanItsShare(limits, { open: [], waiting: [], keys: 2, ...more }, usual);
  expect([lessOf({}), lessOf({ keys: 1 }), lessOf({ keys: 10 })]).toEqual([true, false, true]);
  expect([lessOf({ open: many(2) }), lessOf({ open: many(3) })]).toEqual([true, false]);
  expect([lessOf({ waiting: [7, 7] }), lessOf({ waiting: [7, 7, 1] })]).toEqual([true, false]);
  expect(lessOf({ open: many(1), keys: 5 })).toBe(false);
  expect(lessOf({ open: many(1), keys: 5 }, 1)).toBe(true);
});
