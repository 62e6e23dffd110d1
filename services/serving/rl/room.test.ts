import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { countWaitingSamples, lackOfRoom, type Occupancy, type OpenSession, QUIET_MS } from './room.ts';

const limits = { maxSessions: 30, batchSize: 2, maxBatchSize: 16, maxStaleness: 4 };
const session = (more: Partial<OpenSession> = {}): OpenSession => ({
  ...{ answers: 1, rewarded: false, quietMs: 0 },
  ...more,
});
const many = (count: number, more: Partial<OpenSession> = {}) =>
  Array.from({ length: count }, () => session(more));
const at = (more: Partial<Occupancy>): Occupancy => ({
  ...{ open: [], others: 0, waiting: 0, trains: false, usual: 1 },
  ...more,
});

test('open sessions and waiting samples fill as many batches as a sample may be old', () => {
  expect(lackOfRoom(limits, at({ open: many(5), waiting: 4 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: many(6), waiting: 4 }))).toBe('staleness');
  expect(lackOfRoom(limits, at({ waiting: 10 }))).toBe('staleness');
  expect(lackOfRoom({ ...limits, maxSessions: 5 }, at({ open: many(5) }))).toBe('sessions');
});

test('an open session counts what it has answered, and what sessions usually answer', () => {
  expect(lackOfRoom(limits, at({ open: many(2, { answers: 4 }), waiting: 1, usual: 1 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: many(2, { answers: 5 }), usual: 1 }))).toBe('staleness');
  // a batch keeps a session of three answers whole, so five such sessions are five versions
  expect(lackOfRoom(limits, at({ open: many(4, { answers: 0 }), usual: 3 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: many(5, { answers: 0 }), usual: 3 }))).toBe('staleness');
  const ofSixteen = { ...limits, batchSize: 16 };
  expect(lackOfRoom(ofSixteen, at({ open: many(29, { answers: 0 }), usual: 3 }))).toBeUndefined();
});

test('rewarded sessions do not age while nothing waits or trains, so others may begin', () => {
  const held = many(5, { answers: 3, rewarded: true });
  expect(lackOfRoom(limits, at({ open: held, usual: 3 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: held, usual: 3, trains: true }))).toBe('staleness');
  expect(lackOfRoom(limits, at({ open: held, usual: 3, waiting: 2 }))).toBe('staleness');
  expect(lackOfRoom(limits, at({ open: held, usual: 3, waiting: 1 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: [...held, ...many(5)], usual: 3 }))).toBe('staleness');
  const asManyAsTheLargestTake = many(20, { answers: 4, rewarded: true });
  expect(lackOfRoom(limits, at({ open: asManyAsTheLargestTake, usual: 4 }))).toBe('staleness');
});

test('a session that is quiet for long takes no room', () => {
  const left = many(20, { answers: 3, quietMs: QUIET_MS });
  expect(lackOfRoom(limits, at({ open: left, usual: 3 }))).toBeUndefined();
  expect(lackOfRoom({ ...limits, maxSessions: 20 }, at({ open: left, usual: 3 }))).toBe('sessions');
});

test('sessions of other adapters take places, and no room', () => {
  expect(lackOfRoom(limits, at({ others: 29 }))).toBeUndefined();
  expect(lackOfRoom(limits, at({ open: many(1), others: 29 }))).toBe('sessions');
});

test('a session that ends for another one leaves its place, but not that of its samples', () => {
  expect(lackOfRoom(limits, at({ waiting: 9 }), { answers: 0 })).toBeUndefined();
  expect(lackOfRoom(limits, at({ waiting: 9 }), { answers: 1 })).toBe('staleness');
});

test('a sample waits until it is dropped or its batch has an outcome', () => {
  const samples = countWaitingSamples('a');
  const on = (type: string, data: object, subject = 'a') =>
    samples.on({ type, subject, data } as unknown as ClawLoopEvent);
  for (const sampleId of ['1', '2', '3', '4', '1']) on('sample.ready', { sampleId, session: 's' });
  on('sample.ready', { sampleId: 'x', session: 'other' }, 'b');
  expect(['s', 'other'].map(samples.hasCome)).toEqual([true, false]);
  expect(samples.count()).toBe(4);
  on('sample.dropped', { sampleId: '1' });
  on('batch.submitted', { batchId: 'b1', samples: [{ sampleId: '2' }, { sampleId: '3' }] });
  expect(samples.count()).toBe(3);
  expect(samples.trains()).toBe(true);
  on('policy.promoted', { batchId: 'b0' });
  expect(samples.count()).toBe(3);
  on('policy.rejected', { batchId: 'b1' });
  expect(samples.count()).toBe(1);
  expect(samples.trains()).toBe(false);
  on('policy.promoted', { batchId: 'b1' });
  expect(samples.count()).toBe(1);
});
