import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { countWaitingSamples } from './waiting-samples.ts';

type Fact = { readonly type: string; readonly data: object; readonly subject?: string };
const foldedBy = () => {
  const samples = countWaitingSamples('a');
  const on = ({ type, data, subject = 'a' }: Fact) =>
    samples.on({ id: type, type, subject, data } as unknown as ClawLoopEvent);
  return { samples, on };
};
const ready = (sampleId: string, session = 's', following?: number): Fact => ({
  type: 'sample.ready',
  data: { sampleId, session, lane: `lane-${session}`, ...defined({ following }) },
});
const submitted = (n: number, ...ids: readonly string[]): Fact => ({
  type: 'batch.submitted',
  data: { batchId: `b${n}`, n, samples: ids.map((sampleId) => ({ sampleId })) },
});
const promoted = (n: number, from: number): Fact => ({
  type: 'policy.promoted',
  data: { batchId: `b${n}`, from, to: n, checkpoint: 'c', digest: 'd' },
});
const rejected = (n: number): Fact => ({ type: 'policy.rejected', data: { batchId: `b${n}` } });

test('a sample waits until it is dropped or its batch ends', () => {
  const { samples, on } = foldedBy();
  for (const id of ['1', '2', '3', '4', '1']) on(ready(id));
  on({ ...ready('x', 'other'), subject: 'b' });
  expect(['s', 'other'].map(samples.hasCome)).toEqual([true, false]);
  expect(samples.waiting()).toEqual({ sessions: [], single: 4 });
  on({ type: 'sample.dropped', data: { sampleId: '1' } });
  on(submitted(1, '2', '3'));
  expect([samples.waiting().single, samples.trains()]).toEqual([3, true]);
  on(promoted(7, 0));
  expect([samples.waiting().single, samples.trains()]).toEqual([3, true]);
  on(rejected(1));
  expect([samples.waiting().single, samples.trains()]).toEqual([1, false]);
  on(promoted(1, 0));
  expect([samples.waiting().single, samples.trains()]).toEqual([1, false]);
});

test('the samples of a rewarded session wait as a whole', () => {
  const { samples, on } = foldedBy();
  for (const fact of [ready('1', 's', 2), ready('2', 's', 1), ready('3', 's', 0), ready('4', 't', 0)])
    on(fact);
  on(ready('5', 'u'));
  expect(samples.waiting()).toEqual({ sessions: [3, 1], single: 1 });
  expect(samples.bySession()).toEqual([
    { lane: 'lane-s', count: 3 },
    { lane: 'lane-t', count: 1 },
  ]);
  on(submitted(1, '1', '2', '3'));
  on(promoted(1, 0));
  expect(samples.waiting()).toEqual({ sessions: [1], single: 1 });
});

test('the age of a version is counted along the lineage', () => {
  const { samples, on } = foldedBy();
  for (const fact of [submitted(1, 'a'), promoted(1, 0), submitted(2, 'b'), promoted(2, 1)]) on(fact);
  expect([0, 1, 2, 3].map((version) => samples.ageOf(version, 4))).toEqual([2, 1, 0, undefined]);
  expect(samples.ageOf(0, 1)).toBeUndefined();
  on({ type: 'policy.rolled-back', data: { from: 2, to: 0 } });
  expect([0, 1, 2].map((version) => samples.ageOf(version, 4))).toEqual([0, undefined, undefined]);
});
