import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TinkerError } from '../../shared/tinker/errors.ts';
import { sampleData } from './testing/facts.ts';
import { openTraining } from './testing/open-training.ts';

test('a batch that a training server never completes waits while its parent is the head; a rollback ends it', async () => {
  const store = await mkdtemp(join(tmpdir(), 'clawloop-trainer-'));
  onTestFinished(() => rm(store, { recursive: true }));
  const { train, events } = openTraining(store);
  const detail = 'CUDA out of memory';
  const busy = TinkerError.BUSY({ path: 'forward_backward', status: 500, attempts: 3, detail });
  const runner = { run: () => Promise.reject(busy) };
  const samples = [sampleData('a'), sampleData('b')];
  for (let again = 0; again < 5; again += 1)
    await expect(train(1, samples, { runner, isParentHead: () => true })).rejects.toBe(busy);
  expect(events()).toEqual([]);
  await train(1, samples, { runner, isParentHead: () => false });
  expect(events().at(-1)).toMatchObject({
    type: 'policy.update-failed',
    data: { reason: 'strikes', detail: expect.stringContaining('v0 is no longer the head') },
  });
});
