import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import { logError } from '../../shared/log/errors.ts';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { readEarlier, readSamples } from './read-samples.ts';
import { replayVersion } from './replay-step.ts';
import type { StepInput } from './step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { openTraining, twoSamples } from './testing/open-training.ts';
import { toyEngine } from './testing/toy-engine.ts';

let store: string;
beforeEach(async () => {
  store = await mkdtemp(join(tmpdir(), 'clawloop-earlier-'));
});
afterEach(() => rm(store, { recursive: true }));

const at = (offset: number) => ({ partition: 0, offset });
const ready = (data: SampleReady['data']) =>
  SampleReady.create({ id: `${data.sampleId}/ready`, source: 'test', time: '2026-01-01T00:00:00Z', data });

test('a batch trains with the earlier samples that it names, except those that are gone', async () => {
  const samples = [...twoSamples('a', 'b')];
  const { runner, train, events } = openTraining(store);
  const inputs: StepInput[] = [];
  const watched: typeof runner = {
    run: (input, ...rest) => {
      inputs.push(input);
      return runner.run(input, ...rest);
    },
  };
  const earlier = [
    { sampleId: 'a', at: at(0) },
    { sampleId: 'gone', at: at(1) },
  ];
  await train(1, samples, { runner: watched }, earlier);
  expect(inputs[0]!.samples).toEqual(samples);
  expect(inputs[0]!.earlier).toEqual([samples[0]]);
  expect(events().map(({ type }) => type)).toEqual(['policy.trained', 'policy.promoted']);
});

test('no request text is stored in a checkpoint', async () => {
  const words = 'where is the brass key';
  const before = sampleData('before', { messages: [{ role: 'user', content: words }] });
  const { train } = openTraining(store);
  await train(1, [...twoSamples('a', 'b'), before], {}, [{ sampleId: 'before', at: at(2) }]);
  const files = await readdir(store, { recursive: true, withFileTypes: true });
  const texts = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  expect(texts.length).toBeGreaterThan(1);
  for (const text of texts) expect(text).not.toContain(words);
});

test('a sample without its words trains nothing', async () => {
  const sample = { sampleId: 'a', at: at(0) };
  const erased = { ...ready(sampleData('a')), erased: '2026-02-01T00:00:00.000Z' };
  const log = { read: () => Promise.resolve(erased) };
  const batch = { batchId: 'default/batch/2', earlier: [sample], samples: [sample] };
  await expect(readSamples(log, batch)).rejects.toThrow('The words of a were erased at 2026-02-01');
  expect(await readEarlier(log, batch)).toEqual([]);
});

test('an unavailable log is waited for; a trimmed record is not', async () => {
  const batch = { batchId: 'default/batch/2', earlier: [{ sampleId: 'a', at: at(0) }] };
  const reading = (error: Error) => readEarlier({ read: () => Promise.reject(error) }, batch);
  expect(await reading(logError('RecordGone', 'no record at 0/0'))).toEqual([]);
  await expect(reading(logError('LogUnavailable', 'away'))).rejects.toThrow('away');
  expect(await readEarlier({ read: () => Promise.reject(new Error('not read')) }, { batchId: 'x' })).toEqual(
    [],
  );
});

test('a version is replayed with or without its earlier samples', async () => {
  const samples = twoSamples('a', 'b');
  const { train, events } = openTraining(store);
  const earlier = [{ sampleId: 'a', at: at(0) }];
  await train(1, samples, {}, earlier);
  const trained = events().flatMap((event) => (event.type === 'policy.trained' ? [event.data] : []))[0]!;
  const batch = batchData(1, samples, { rank: 2, alpha: 2 });
  for (const named of [earlier, [{ sampleId: 'gone', at: at(0) }]]) {
    const replayed = await replayVersion(
      { batch: { ...batch, earlier: named }, trained, parent: undefined },
      {
        log: { read: async (_, { offset }) => ready(samples[offset]!) },
        engine: toyEngine,
        storeOf: () => openCheckpointStore(store),
      },
    );
    expect(replayed).toMatchObject({ kind: 'same', digest: trained.digest });
  }
});
