import { expect, test } from 'vitest';
import { logError } from '../../shared/log/errors.ts';
import { replayVersion } from './replay-step.ts';
import { batchData, sampleData } from './testing/facts.ts';
import { toyEngine } from './testing/toy-engine.ts';

const batch = batchData(1, [sampleData('a')]);
const trained = {
  ...{ batchId: batch.batchId, adapter: 'default', version: 1, parent: 0, checkpoint: 'v1' },
  ...{ digest: 'digest', metrics: {}, fingerprint: 'toy', milliseconds: 1 },
};
const replay = (error: Error) =>
  replayVersion(
    { batch, trained },
    { log: { read: () => Promise.reject(error) }, engine: toyEngine, storeOf: () => 'nowhere' },
  );

test('a version whose samples were trimmed is not covered; a log that is away is an error', async () => {
  expect(await replay(logError('RecordGone', 'no record at 0/0'))).toMatchObject({
    kind: 'not-covered',
    why: 'no record at 0/0',
  });
  await expect(replay(logError('LogUnavailable', 'away'))).rejects.toThrow('away');
});
