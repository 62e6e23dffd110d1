import { expect, test } from 'vitest';
import { ConfigError } from '../../shared/config/common.ts';
import { SampleReady } from '../../shared/events/sample-ready.ts';
import { logError } from '../../shared/log/errors.ts';
import { openCheckpointStore } from '../../shared/policy/checkpoints/checkpoint-store.ts';
import { TrainerError } from './errors.ts';
import type { LearningEngine } from './learning-engine.ts';
import { replayVersion } from './replay-step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';

const batch = batchData(1, [sampleData('a')]);
const trained = {
  batchId: batch.batchId,
  adapter: 'default',
  version: 1,
  parent: 0,
  checkpoint: 'v1',
  digest: 'digest',
  metrics: {},
  fingerprint: 'toy',
  milliseconds: 1,
};
const replay = (error: Error) =>
  replayVersion(
    { batch, trained, parent: undefined },
    {
      log: { read: () => Promise.reject(error) },
      engine: toyEngine,
      storeOf: () => openCheckpointStore('nowhere'),
    },
  );

test('a version with trimmed samples is not covered; an unavailable log is an error', async () => {
  expect(await replay(logError('RecordGone', 'no record at 0/0'))).toMatchObject({
    kind: 'not-covered',
    why: 'no record at 0/0',
  });
  await expect(replay(logError('LogUnavailable', 'away'))).rejects.toThrow('away');
});

test('a version with a missing or changed teacher is not covered; the others are', async () => {
  const sample = sampleData('a');
  const time = '2026-01-01T00:00:00.000Z';
  const ready = SampleReady.create({ id: 'a/ready', source: 'test', time, data: sample });
  const log = { read: async () => ready };
  const taught = batchData(1, [sample], { method: 'opd', teacher: 'someone/teacher' });
  const replayWith = (prepare: LearningEngine['prepare'], fingerprint = 'toy') =>
    replayVersion(
      { batch: taught, trained: { ...trained, fingerprint }, parent: undefined },
      { log, engine: { ...toyEngine, prepare }, storeOf: () => openCheckpointStore('nowhere') },
    );
  const refuse = (error: Error) => () => Promise.reject(error);
  expect(await replayWith(refuse(new ConfigError('someone/teacher is not here')))).toMatchObject({
    kind: 'not-covered',
    why: 'someone/teacher is not here',
  });
  expect(await replayWith(refuse(TrainerError.TEACHER_VOCABULARY({ teacher: 'it' })))).toMatchObject({
    kind: 'not-covered',
    why: expect.stringContaining('different vocabulary'),
  });
  await expect(replayWith(refuse(new TypeError('a fault of ours')))).rejects.toThrow('a fault of ours');
  const asNow = async () => ({ teacherDigest: 'now' });
  expect(await replayWith(asNow, 'toy; teacher now')).toMatchObject({ kind: 'different', runtime: 'toy' });
  expect(await replayWith(asNow, 'toy; teacher then')).toMatchObject({
    kind: 'not-covered',
    why: 'the teacher someone/teacher has changed since then',
  });
});
