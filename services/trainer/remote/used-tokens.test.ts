import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openUsedTokens } from './used-tokens.ts';

test('a trainer and a replay beside it count the tokens of both', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'training-tokens.json');
  const trainer = await openUsedTokens(path);
  await trainer.write(1_000);
  const replay = await openUsedTokens(path);
  expect(replay.before).toBe(1_000);
  await trainer.write(1_500);
  await replay.write(200);
  await trainer.write(1_600);
  expect((await openUsedTokens(path)).before).toBe(1_800);
});
