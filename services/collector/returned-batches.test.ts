import { expect, test } from 'vitest';
import { BatchReturned } from '../../shared/events/batch-returned.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import { batchSeed, submit } from './submit.ts';
import { sampleReady, sampleWithdrawn } from './testing/events.ts';
import { brief, runFold } from './testing/run-fold.ts';
import {
  adapter,
  command,
  paused,
  promoted,
  rejected,
  resumed,
  rolledBack,
} from './testing/version-events.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const ready = (...ids: readonly string[]) => ids.map((id) => sampleReady(id, `session of ${id}`));
const older = { ...training, learningRate: training.learningRate / 2 };
const returned = (id: string, n: number, ...samples: readonly string[]) =>
  BatchReturned.create({
    ...command(id),
    data: {
      batchId: `default/batch/${n}`,
      adapter,
      n,
      size: 2,
      maxStaleness: 2,
      samples: samples.map((sampleId, offset) => ({ sampleId, at: { partition: 0, offset } })),
      without: 0,
      settings: older,
      seed: batchSeed(adapter, n),
    },
  });

const run = (events: readonly ClawLoopEvent[]) =>
  runFold(submit, events, { size: 2, maxStaleness: 2, training }).emitted;
const lines = (events: readonly ClawLoopEvent[]) => run(events).map(brief);

/** Two versions, of the samples a b and c d; the head goes back to the base. */
const abandoned = [...ready('a', 'b', 'c', 'd'), promoted(1, 0), promoted(2, 1), rolledBack('r', 2, 0)];
const before = ['batch 1 on v0: a b', 'batch 2 on v1: c d'];

test('returned batches train one after the other, as they were, before new samples and whatever their age', () => {
  const events = [...abandoned, returned('x', 1, 'b'), returned('y', 2, 'c', 'd'), ...ready('e', 'f')];
  const ends = [promoted(3, 0), promoted(4, 3)];
  expect(lines([...events, ...ends])).toEqual([
    ...before,
    'batch 3 on v0: b',
    'batch 4 on v3: c d',
    'batch 5 on v4: e f',
  ]);
  const [, , third, fourth, fifth] = run([...events, ...ends]);
  const [first, second] = ['default/batch/1', 'default/batch/2'];
  expect(third).toMatchObject({ data: { again: first, settings: older, seed: batchSeed(adapter, 1) } });
  expect(fourth).toMatchObject({ data: { again: second, settings: older, seed: batchSeed(adapter, 2) } });
  expect(fifth).toMatchObject({ data: { settings: training, seed: batchSeed(adapter, 5) } });
  expect(fifth?.data).not.toHaveProperty('again');
});

test('a batch of a version that the head learned from is not trained twice', () => {
  const served = [...ready('a', 'b'), promoted(1, 0), returned('x', 1, 'a', 'b')];
  const dropped = ['dropped a: already-trained', 'dropped b: already-trained'];
  expect(lines(served)).toEqual(['batch 1 on v0: a b', ...dropped]);
  // it waits already; it is trained again already; the head went back to the version that learned from it
  const once = [...abandoned, returned('x', 1, 'a', 'b')];
  expect(lines([...once, returned('y', 1, 'a', 'b')])).toEqual([...before, 'batch 3 on v0: a b', ...dropped]);
  expect(lines([...once, promoted(3, 0), returned('y', 1, 'a', 'b')]).slice(3)).toEqual(dropped);
  const back = [...abandoned, returned('x', 2, 'c'), returned('y', 1, 'a', 'b'), rolledBack('s', 0, 1)];
  expect(lines([...back, promoted(3, 0)]).slice(2)).toEqual(['batch 3 on v0: c', ...dropped]);
  const lost = [...once, rejected(3), returned('y', 1, 'a')];
  expect(lines(lost).slice(2)).toEqual(['batch 3 on v0: a b', 'batch 4 on v0: a']);
});

test('a batch that waits and returns once more moves to the end, so that the later order holds', () => {
  const three = [...ready('a', 'b', 'c', 'd', 'e', 'f'), promoted(1, 0), promoted(2, 1), promoted(3, 2)];
  const waits = [
    ...three,
    rolledBack('r', 3, 0),
    returned('x', 1, 'a'),
    returned('y', 2, 'c'),
    returned('z', 3, 'e'),
  ];
  const anew = [
    promoted(4, 0),
    rolledBack('s', 4, 0),
    returned('p', 1, 'a'),
    returned('q', 2, 'c'),
    returned('r2', 3, 'e'),
  ];
  expect(lines([...waits, ...anew, rejected(5), promoted(6, 0), promoted(7, 6)]).slice(3)).toEqual([
    'batch 4 on v0: a',
    'batch 5 on v4: c',
    'dropped e: already-trained',
    'batch 6 on v0: a',
    'batch 7 on v6: c',
    'batch 8 on v7: e',
  ]);
});

test('a request of a turn that is withdrawn is not asked again', () => {
  const earlier = ['a', 'c'].map((sampleId) => ({ sampleId, at: { partition: 0, offset: 0 } }));
  const names = returned('y', 2, 'c', 'd');
  const events = [
    ...abandoned,
    returned('x', 1, 'b'),
    { ...names, data: { ...names.data, earlier } },
    sampleWithdrawn('a'),
    promoted(3, 0),
  ];
  expect(run(events).at(-1)).toMatchObject({ data: { n: 4, earlier: [{ sampleId: 'c' }] } });
});

test('each drop has an id of its own, and a copy of the command changes nothing', () => {
  const twice = [...ready('a'), sampleReady('b', 's'), promoted(1, 0)];
  const drops = run([...twice, returned('x', 1, 'a'), returned('x', 1, 'a'), returned('y', 1, 'a')]);
  expect(drops.slice(1).map(({ id }) => id)).toEqual(['a/dropped/x', 'a/dropped/y']);
  const copy = [...abandoned, returned('x', 1, 'a'), promoted(3, 0), rolledBack('s', 3, 0)];
  expect(lines([...copy, returned('x', 1, 'a')])).toEqual([...before, 'batch 3 on v0: a']);
  expect(lines([...copy, returned('y', 1, 'a')])).toEqual([
    ...before,
    'batch 3 on v0: a',
    'batch 4 on v0: a',
  ]);
});

test('a sample that is withdrawn while it waits to train again does not', () => {
  const waits = [...abandoned, returned('x', 1, 'a', 'b'), returned('y', 2, 'c', 'd')];
  expect(lines([...waits, sampleWithdrawn('c'), promoted(3, 0)])).toEqual([
    ...before,
    'batch 3 on v0: a b',
    'dropped c: deleted',
    'batch 4 on v3: d',
  ]);
  const all = [...waits, sampleWithdrawn('c'), sampleWithdrawn('d'), sampleWithdrawn('a'), promoted(3, 0)];
  expect(lines(all).slice(3)).toEqual(['dropped c: deleted', 'dropped d: deleted']);
});

test('while learning is paused no batch trains again', () => {
  const events = [...abandoned, paused('p'), returned('x', 1, 'a')];
  expect(lines(events)).toEqual(before);
  expect(lines([...events, resumed('q')])).toEqual([...before, 'batch 3 on v0: a']);
});
