import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import { headFold } from '../../shared/lineage/head-fold.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { localTraining } from './local-trainee.ts';
import { createTrainerMetrics } from './metrics.ts';
import { step } from './step.ts';
import type { StepRunner } from './step-runner.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';
import { createTrainer } from './trainer.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'clawloop-trainer-'));
});
afterEach(() => rm(root, { recursive: true }));

const at = { source: 'clawloop/collector', time: '2026-01-01T00:00:00Z' };
const samples = [
  sampleData('a'),
  sampleData('b', { verdict: -1, tokens: { responseIds: [2], logProbs: [-1.6] } }),
];
const never = new AbortController().signal;

/** A trainer with a log in memory. */
function openTrainer(runner: Pick<StepRunner, 'run' | 'removeState'>, keep = 100) {
  const registry = new Registry();
  const subjects = new Map<string, ReturnType<typeof memoryRows>>();
  const rowsOf = (adapter: string) => {
    const rows = subjects.get(adapter) ?? memoryRows();
    subjects.set(adapter, rows);
    return rows;
  };
  const append = async (events: readonly ClawLoopEvent[]) => {
    for (const event of events) {
      const rows = rowsOf(event.subject);
      rows.apply(headFold.on(rows, event, { partition: 0, offset: 0 }, undefined).changes);
    }
  };
  const storeOf = (adapter: string) => openCheckpointStore(join(root, adapter));
  const trainer = createTrainer({
    log: {
      logId: 'this-log',
      append,
      read: async (_, { offset }) => {
        const data = samples[offset]!;
        return SampleReady.create({ id: `${data.sampleId}/ready`, ...at, data });
      },
    },
    runner,
    base: { model: 'toy', folder: '/toy', digest: 'base-digest' },
    findModel: () => Promise.reject(new Error('no model is asked for')),
    storeOf,
    metrics: createTrainerMetrics(registry),
    logger: pino({ level: 'silent' }),
    keep,
    aside: { maxAgeMs: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY },
    maxStrikes: 3,
  });
  const owed = () => trainer.owed([...subjects].map(([subject, rows]) => ({ subject, partition: 0, rows })));
  return {
    owed,
    wakeUp: (adapter: string) => trainer.wakeUp({ adapter }, never),
    submit: async (n: number, adapter = 'default') => {
      const batchId = `${adapter}/batch/${n}`;
      const data = { ...batchData(n, samples, { rank: 2, alpha: 2 }), batchId, adapter };
      await append([BatchSubmitted.create({ id: batchId, ...at, data })]);
      return owed();
    },
    storeOf,
    progress: async () =>
      (await registry.getSingleMetricAsString('clawloop_trainer_progress_ratio'))
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#')),
  };
}

test('each adapter has its own progress while its step runs', async () => {
  const gates = new Map(['ann', 'bob'].map((name) => [name, Promise.withResolvers<void>()] as const));
  const run: StepRunner['run'] = async (input, onProgress) => {
    const { adapter } = input.batch;
    onProgress({ phase: 'training', samples: adapter === 'ann' ? 1 : 2, of: 4 });
    await gates.get(adapter)!.promise;
    const result = await step(localTraining(toyEngine), input, () => {});
    return { result, fingerprint: 'toy', milliseconds: 1, tensors: 0 };
  };
  const trainer = openTrainer({ run });
  for (const name of gates.keys()) await trainer.submit(1, name);
  const steps = new Map([...gates.keys()].map((name) => [name, trainer.wakeUp(name)] as const));
  const series = (name: string, share: number) =>
    `clawloop_trainer_progress_ratio{adapter="${name}"} ${share}`;
  await expect.poll(trainer.progress).toEqual([series('ann', 0.25), series('bob', 0.5)]);
  gates.get('ann')!.resolve();
  await steps.get('ann');
  expect(await trainer.progress()).toEqual([series('bob', 0.5)]);
  gates.get('bob')!.resolve();
  await steps.get('bob');
  expect(await trainer.progress()).toEqual([]);
});

test('states of versions that are pruned, and of killed attempts, are removed from the server', async () => {
  const isAway = { now: false };
  const removed: string[] = [];
  const stateOf = (n: number) => `tinker://model-${n}/weights/state`;
  const run: StepRunner['run'] = async (input, onProgress, _, { onState }) => {
    const { n } = input.batch;
    const result = await step(localTraining(toyEngine), { ...input, parent: undefined }, onProgress);
    if (result.kind !== 'candidate') throw new Error(result.detail);
    await onState(stateOf(n));
    const probe = { promptIds: [1], responseIds: [2], logProbs: [-1] };
    const place = { dialect: 'skyrl-jax', url: 'http://server', path: stateOf(n), probe };
    const optimizer = { kind: 'remote', step: n, ...place } as const;
    return { result: { ...result, optimizer }, fingerprint: 'toy', milliseconds: 1, tensors: 0 };
  };
  const removeState = async (path: string) => {
    if (isAway.now) throw new Error('the server is away');
    removed.push(path);
  };
  const trainer = openTrainer({ run, removeState }, 1);
  const { folder } = trainer.storeOf('default');
  const versions = async () =>
    (await readdir(folder))
      .filter((name) => /^\d+-[0-9a-f]+$/.test(name))
      .map((name) => Number.parseInt(name, 10))
      .toSorted((a, b) => a - b);
  const upTo = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const train = async (n: number) => {
    await trainer.submit(n);
    await trainer.wakeUp('default');
  };
  for (const n of upTo(1, 10)) await train(n);
  // its trainer was killed when the batch had its outcome already
  await openCheckpointStore(folder).attempts('2-0123456789ab').note('tinker://killed/weights/state');
  isAway.now = true;
  trainer.owed();
  for (const n of upTo(11, 12)) await train(n);
  expect(removed).toEqual([]);
  expect(await versions()).toEqual(upTo(1, 12));

  isAway.now = false;
  trainer.owed();
  await expect.poll(versions).toEqual(upTo(3, 12)); // the head and the nine before it always stay
  expect(removed.toSorted()).toEqual(['tinker://killed/weights/state', stateOf(1), stateOf(2)]);
  const attempts = async () => (await readdir(folder)).filter((name) => name.endsWith('.attempts'));
  await expect.poll(attempts).toEqual([]);
});
