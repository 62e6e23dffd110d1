import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { estimateMemory, servingPeak, trainingPeak } from '../../shared/policy/model/memory-estimate.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';

const child = fileURLToPath(new URL('measure-memory.ts', import.meta.url));
const config = randomModels['smollm2-135m'];
const measurable =
  process.platform === 'linux' && (nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1');
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'memory-'));
  await makeRandomModel(folder, config);
});
afterAll(() => rm(folder, { recursive: true }));

test.runIf(measurable).each([
  ['serve', { rank: 8, tokens: 1000, responseTokens: 1 }],
  ['train', { rank: 8, tokens: 512, responseTokens: 128 }],
  ['train', { rank: 8, tokens: 1024, responseTokens: 128 }],
  ['train-all', { rank: 8, tokens: 256, responseTokens: 64 }],
] as const)('what is said of 135 million weights on native is what they take: %s %o', (work, size) => {
  const numbers = [size.tokens, size.responseTokens, size.rank].map(String);
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [child, 'native', folder, work, ...numbers],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(stderr);
  const { taken } = JSON.parse(stdout) as { taken: number };
  const estimate = estimateMemory(config, size, work === 'train-all' ? 'full' : 'lora');
  const said = work === 'serve' ? servingPeak(estimate) : trainingPeak(estimate);
  console.log(`${work} ${size.tokens}: said ${megabytes(said)}, taken ${megabytes(taken)}`);
  expect(taken).toBeGreaterThan(0.7 * said);
  expect(taken).toBeLessThan(1.3 * said);
});
