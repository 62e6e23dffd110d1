import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { countWaitingSamples, lackOfRoom } from './room.ts';

const limits = { maxSessions: 3, batchSize: 2, maxStaleness: 1 };

test('open sessions and waiting samples together fill as many batches as a sample may be old', () => {
  expect(lackOfRoom(limits, { open: 2, waiting: 1 })).toBeUndefined();
  expect(lackOfRoom(limits, { open: 3, waiting: 0 })).toBe('sessions');
  expect(lackOfRoom(limits, { open: 2, waiting: 2 })).toBe('staleness');
  expect(lackOfRoom(limits, { open: 0, waiting: 4 })).toBe('staleness');
  expect(lackOfRoom({ ...limits, maxStaleness: 0 }, { open: 1, waiting: 0 })).toBeUndefined();
  expect(lackOfRoom({ ...limits, maxStaleness: 0 }, { open: 1, waiting: 1 })).toBe('staleness');
});

test('a session that ends for another one leaves its place, but not that of its sample', () => {
  expect(lackOfRoom(limits, { open: 3, waiting: 0 }, { interactions: 1 })).toBeUndefined();
  expect(lackOfRoom(limits, { open: 1, waiting: 3 }, { interactions: 1 })).toBe('staleness');
  expect(lackOfRoom(limits, { open: 1, waiting: 3 }, { interactions: 0 })).toBeUndefined();
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
  on('policy.promoted', { batchId: 'b0' });
  expect(samples.count()).toBe(3);
  on('policy.rejected', { batchId: 'b1' });
  expect(samples.count()).toBe(1);
  on('policy.promoted', { batchId: 'b1' });
  expect(samples.count()).toBe(1);
});
