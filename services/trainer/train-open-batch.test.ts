import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { BatchSubmitted } from '../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import { HubRefused, HubUnreachable } from '../../shared/hub/errors.ts';
import { batchDigest } from '../../shared/lineage/batch-digest.ts';
import { applyHead, initialHead } from '../../shared/lineage/head.ts';
import { logError } from '../../shared/log/errors.ts';
import { checkpointName, openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { checkCheckpoints } from './check-checkpoints.ts';
import { localTraining } from './local-trainee.ts';
import { step } from './step.ts';
import type { StepRunner } from './step-runner.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';
import { type Training, trainOpenBatch } from './train-open-batch.ts';

let store: string;
let events: ClawLoopEvent[];
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'clawloop-trainer-'));
  events = [];
});
afterEach(() => rm(store, { recursive: true }));

const never = new AbortController().signal;
const samples = [
  sampleData('a'),
  sampleData('b', { verdict: -1, tokens: { responseIds: [2], logProbs: [-1.6] } }),
];
const at = { source: 'clawloop/collector', time: '2026-01-01T00:00:00Z' };
const sampleEvents = samples.map((data) => SampleReady.create({ id: `${data.sampleId}/ready`, ...at, data }));

const toyRunner: StepRunner['run'] = async (input, onProgress) => ({
  result: await step(localTraining(toyEngine), input, onProgress),
  fingerprint: 'toy',
  milliseconds: 1,
  tensors: 0,
});
const training = (changes: Partial<Training> = {}): Training => ({
  log: {
    logId: 'this-log',
    append: async (added) => void events.push(...added),
    read: async (_, { offset }) => sampleEvents[offset]!,
  },
  store: openCheckpointStore(store),
  parent: undefined,
  isParentHead: () => false,
  holdsVersions: false,
  runner: { run: toyRunner },
  findModel: () => Promise.reject(new Error('no model is asked for')),
  base: { model: 'toy', folder: '/toy', digest: 'base-digest' },
  maxStrikes: 3,
  logger: pino({ level: 'silent' }),
  onProgress: () => {},
  onStep: () => {},
  ...changes,
});
const batch = (n: number, changes = {}, parent = n - 1) =>
  batchData(n, samples, { rank: 2, alpha: 2, ...changes }, parent);
const train = (n: number, changes: Partial<Training> = {}) =>
  trainOpenBatch(training({ parent: promotedAs(n - 1), ...changes }), batch(n), never);
/** A version according to the log. */
const promotedAs = (version: number): Training['parent'] =>
  events.flatMap((event) =>
    event.type === 'policy.promoted' && event.data.to === version ? [event.data] : [],
  )[0];
const nameOf = (of: BatchSubmitted['data']) => checkpointName(of.n, batchDigest(of));
const stateOf = async (version: number) =>
  (await openCheckpointStore(store).list()).find(({ state }) => state.version === version)?.state;
const eventIds = () => events.map(({ id }) => id.replace('default/batch/', ''));

test('a batch ends as trained and promoted, from its parent', async () => {
  await train(1);
  await train(2);
  expect(eventIds()).toEqual(['1/trained', '1/promoted', '2/trained', '2/promoted']);
  expect(events.at(-1)).toMatchObject({
    subject: 'default',
    data: { from: 1, to: 2, batchId: 'default/batch/2' },
  });
  expect(events[2]).toMatchObject({
    data: { parent: 1, fingerprint: 'toy', checkpoint: nameOf(batch(2)) },
  });
  const kept = await stateOf(2);
  expect(kept).toMatchObject({
    parent: 1,
    logId: 'this-log',
    baseline: { count: 4 },
    optimizerStep: 2,
  });
  expect((events[3] as { data: { digest: string } }).data.digest).toBe(kept?.digest);
});

test('a batch of an older program trains as before, from the log or an open row', async () => {
  const then = { epochs: 1, distillation: 'sampled', topK: 4, training: 'lora', teacher: 'current' } as const;
  const weights = { gapClip: 1, verdictWeight: 1, hintWeight: 1 };
  const now = batch(1, { method: 'combine', ...then, ...weights });
  const without = (names: readonly string[]) => ({
    ...now,
    settings: Object.fromEntries(Object.entries(now.settings).filter(([name]) => !names.includes(name))),
  });
  const second = without(['epochs', 'distillation', 'topK', 'training']);
  const first = without([...Object.keys(then), ...Object.keys(weights)]);
  const digests: unknown[] = [];
  for (const one of [now, first, second]) {
    expect(BatchSubmitted.schema.parse(one)).toEqual(now);
    await trainOpenBatch(training(), one as typeof now, never);
    digests.push((await stateOf(1))!.digest);
    await rm(join(store, nameOf(now)), { recursive: true });
  }
  expect(new Set(digests).size).toBe(1);
});

test('a repeated job reports the same outcome without training again', async () => {
  await train(1);
  const run = async () => Promise.reject(new Error('it was trained already'));
  await train(1, { runner: { run } });
  expect(events[2]!.data).toEqual(events[0]!.data);
  expect(eventIds()).toEqual(['1/trained', '1/promoted', '1/trained', '1/promoted']);
});

test('a checkpoint committed before a crash is reported after it', async () => {
  const append = async () => Promise.reject(new Error('killed before it could tell'));
  await expect(train(1, { log: { ...training().log, append } })).rejects.toThrow('killed');
  expect(eventIds()).toEqual([]);
  await train(1, { runner: { run: async () => Promise.reject(new Error('not again')) } });
  expect(eventIds()).toEqual(['1/trained', '1/promoted']);
});

test('two trainers of one batch report one outcome', async () => {
  await Promise.all([train(1), train(1)]);
  const digests = events.flatMap((event) => (event.type === 'policy.trained' ? [event.data.digest] : []));
  expect(digests).toHaveLength(2);
  expect(new Set(digests).size).toBe(1);
  expect((await readdir(store)).filter((name) => name.startsWith('.tmp-'))).toEqual([]);
});

test('three failed attempts abandon the batch', async () => {
  const broken = { runner: { run: async () => Promise.reject(new Error('out of memory')) } };
  for (let attempt = 0; attempt < 3; attempt++)
    await expect(train(1, broken)).rejects.toThrow('out of memory');
  expect(eventIds()).toEqual([]);
  await train(1, broken);
  expect(events[0]).toMatchObject({
    id: 'default/batch/1/update-failed',
    data: { reason: 'strikes', detail: expect.stringContaining('out of memory') },
  });
});

test('a committed checkpoint outranks strikes', async () => {
  await train(1);
  for (let attempt = 0; attempt < 3; attempt++) {
    const { fail } = await openCheckpointStore(store)
      .attempts(nameOf(batch(1)))
      .begin();
    await fail('killed');
  }
  await train(1);
  expect(eventIds()).toEqual(['1/trained', '1/promoted', '1/trained', '1/promoted']);
});

test('a cancelled attempt is not a strike; one that timed out is', async () => {
  const run: StepRunner['run'] = (_input, _onProgress, signal) => Promise.reject(signal.reason);
  const stopped = (reason: Error) =>
    expect(trainOpenBatch(training({ runner: { run } }), batch(1), AbortSignal.abort(reason))).rejects.toBe(
      reason,
    );
  for (let attempt = 0; attempt < 5; attempt++) await stopped(new Error('the worker ends'));
  expect(
    (
      await openCheckpointStore(store)
        .attempts(nameOf(batch(1)))
        .strikes()
    ).count,
  ).toBe(0);
  await stopped(new DOMException('too long', 'TimeoutError'));
  expect(
    await openCheckpointStore(store)
      .attempts(nameOf(batch(1)))
      .strikes(),
  ).toEqual({
    count: 1,
    errors: ['too long'],
  });
  await train(1);
  expect(eventIds()).toEqual(['1/trained', '1/promoted']);
});

test('a candidate that fails its gate is kept but not promoted', async () => {
  await trainOpenBatch(training(), batch(1, { gateMeanKl: 1e-9 }), never);
  expect(eventIds()).toEqual(['1/trained', '1/rejected']);
  expect(events[1]).toMatchObject({
    data: { reason: 'kl-to-parent', detail: expect.stringContaining('limit') },
  });
});

test('states of failed attempts are removed from the server; what stays there stays noted', async () => {
  const away = new Set(['tinker://b/weights/x']);
  const removed: string[] = [];
  const removeState = async (path: string) => {
    if (away.has(path)) throw new Error('the server is away');
    removed.push(path);
  };
  const attempts = openCheckpointStore(store).attempts(nameOf(batch(1)));
  for (const model of ['a', 'b']) await attempts.note(`tinker://${model}/weights/x`);
  await train(1, { runner: { run: toyRunner, removeState } });
  expect(removed).toEqual(['tinker://a/weights/x']);
  expect(await attempts.notes()).toContain('tinker://b/weights/x');
  away.clear();
  await train(1, { runner: { run: toyRunner, removeState } });
  expect(removed).toContain('tinker://b/weights/x');
  expect(await attempts.notes()).toEqual([]);
});

test('a candidate that is not finite leaves no checkpoint', async () => {
  await trainOpenBatch(training(), batch(1, { learningRate: 1e39 }), never);
  expect(eventIds()).toEqual(['1/rejected']);
  expect(events[0]).toMatchObject({ data: { reason: 'not-finite' } });
  expect(await openCheckpointStore(store).has(nameOf(batch(1)))).toBe(false);
});

test('a missing, damaged or mismatching parent fails the batch with that reason', async () => {
  await train(2);
  expect(events[0]).toMatchObject({
    id: 'default/batch/2/update-failed',
    data: { reason: 'parent-missing' },
  });

  await train(1);
  await train(2, { base: { model: 'toy', folder: '/toy', digest: 'another' } });
  expect(events.at(-1)).toMatchObject({ data: { reason: 'base-changed' } });

  await trainOpenBatch(training({ parent: promotedAs(1) }), batch(2, { training: 'full' }), never);
  expect(events.at(-1)).toMatchObject({
    data: { reason: 'training-changed', detail: 'v1 was trained as lora, this batch asks for full' },
  });

  const path = join(store, nameOf(batch(1)), 'state.json');
  await writeFile(path, (await readFile(path, 'utf8')).replace(/"value": [-\d.e]+/, '"value": 0.5'));
  await train(2);
  expect(events.at(-1)).toMatchObject({
    data: { reason: 'parent-missing', detail: expect.stringContaining('digest') },
  });
});

test('permanently missing samples fail the batch; an unavailable log is waited for', async () => {
  const reading = (read: () => Promise<ClawLoopEvent>) => train(1, { log: { ...training().log, read } });
  await expect(reading(() => Promise.reject(logError('LogUnavailable', 'away')))).rejects.toThrow('away');
  expect(events).toEqual([]);
  await reading(async () => sampleEvents[0]!);
  expect(events.at(-1)).toMatchObject({
    type: 'policy.update-failed',
    data: { reason: 'samples-missing', detail: expect.stringContaining('names sample b') },
  });
  await reading(() => Promise.reject(logError('RecordGone', 'no record at 0/7')));
  expect(events.at(-1)).toMatchObject({ data: { reason: 'samples-missing', detail: 'no record at 0/7' } });
});

test('a rollback during a step is not undone by the step', async () => {
  const submitted = (n: number, parent: number) =>
    BatchSubmitted.create({ id: `default/batch/${n}`, ...at, data: batch(n, {}, parent) });
  events.push(submitted(1, 0));
  await train(1);
  events.push(submitted(2, 1));
  const back = { adapter: 'default', from: 1, to: 0 };
  events.push(PolicyRolledBack.create({ id: 'back', ...at, data: back }));
  await train(2);
  expect(eventIds().slice(-2)).toEqual(['2/trained', '2/promoted']);
  const head = events.reduce(applyHead, initialHead);
  expect(head).toMatchObject({ head: 0, open: null });
});

test('checkpoints of another log prevent the start, with instructions', async () => {
  await train(1);
  await checkCheckpoints(openCheckpointStore(store), 'this-log');
  await expect(checkCheckpoints(openCheckpointStore(store), 'that-log')).rejects.toThrow(
    /Move the folder away/,
  );
});

test('a teacher with a hub id is downloaded before the step, which gets its folder', async () => {
  const requestedModels: string[] = [];
  const teachers: string[] = [];
  const taught = batch(1, { method: 'combine', teacher: 'someone/teacher' });
  const outcome = await trainOpenBatch(
    training({
      findModel: async (model) => {
        requestedModels.push(model);
        return '/cache/teacher';
      },
      runner: {
        run: async (input, onProgress, ...rest) => {
          teachers.push(input.batch.settings.teacher!);
          return toyRunner({ ...input, batch: batch(1) }, onProgress, ...rest);
        },
      },
    }),
    taught,
    never,
  );
  expect([requestedModels, teachers]).toEqual([['someone/teacher'], ['/cache/teacher']]);
  expect(outcome).toMatchObject({ state: { settings: { teacher: 'someone/teacher' } } });
});

test('a refusal by the hub fails the batch; an unreachable hub is waited for', async () => {
  const taught = batch(1, { method: 'opd', teacher: 'someone/teacher' });
  const name = nameOf(taught);
  const asking = (error: Error) =>
    trainOpenBatch(training({ findModel: () => Promise.reject(error) }), taught, never);
  for (let again = 0; again < 5; again++)
    await expect(asking(new HubUnreachable('the hub is away'))).rejects.toThrow('the hub is away');
  expect(await openCheckpointStore(store).attempts(name).strikes()).toMatchObject({ count: 0 });
  expect(events).toEqual([]);
  await asking(new HubRefused('no such model'));
  expect(events.at(-1)).toMatchObject({
    type: 'policy.update-failed',
    data: { reason: 'teacher-missing', detail: 'no such model' },
  });
});
