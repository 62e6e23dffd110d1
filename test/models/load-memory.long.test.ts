import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';

const child = fileURLToPath(new URL('load-model.ts', import.meta.url));
const linux = process.platform === 'linux';
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'load-memory-'));
  await makeRandomModel(folder, randomModels['smollm2-135m']);
});
afterAll(() => rm(folder, { recursive: true }));

function load(backend: 'native' | 'wasm') {
  const { stdout, stderr, status } = spawnSync(process.execPath, [child, backend, folder], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as { loading: number; weights: number };
}

const withNative = nativeInstalled() || process.env.CLAWLOOP_REQUIRE_ALL === '1';
const backends = withNative ? (['native', 'wasm'] as const) : (['wasm'] as const);
test.runIf(linux).each(backends)(
  'loading 135 million weights on %s takes at most 1.3 times their size in f32',
  (backend) => {
    const { loading, weights } = load(backend);
    expect(weights).toBe(4 * 134_515_008);
    console.log(`${backend}: ${(loading / weights).toFixed(2)} times the weights`);
    expect(loading).toBeLessThan(1.3 * weights);
  },
);
