import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const copy = mkdtempSync(join(tmpdir(), 'setup-gpu-'));
afterAll(() => rmSync(copy, { recursive: true }));

const node = (...args: readonly string[]) =>
  spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', maxBuffer: 2 ** 26 });

/** Prints the backend's report and the sum of a product of two matrices of ones. */
const computing = `
  const { openBackend } = await import('./shared/policy/executors/backend.ts');
  const { matmul } = await import('./shared/policy/ops/matmul.ts');
  const executor = await openBackend('native');
  const ones = () => executor.upload(new Float32Array(64 * 64).fill(1), [64, 64]);
  const product = executor.scope(() => executor.read(matmul(executor, ones(), ones(), {})));
  console.log(JSON.stringify({ report: executor.report, sum: product.reduce((a, b) => a + b, 0) }));
`;

// 3.3 GB come over the network: nightly. In a copy, so that the CPU backend of the checkout stays as it is.
test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'setup:native -- --gpu builds and loads; without a device it says so and computes on the CPU',
  () => {
    for (const part of ['infra/tensorflow', 'shared/policy'])
      cpSync(join(root, part), join(copy, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const setup = node('infra/tensorflow/setup-native.ts', '--gpu');
    expect({ status: setup.status, said: setup.stderr }).toMatchObject({ status: 0 });
    expect(setup.stderr).toMatch(/on a CUDA device|built for CUDA, but TensorFlow finds no device/);

    const { stdout, status } = node('--input-type=module', '-e', computing);
    expect(status).toBe(0);
    const { report, sum } = JSON.parse(stdout) as { report: string; sum: number };
    expect(sum).toBe(64 ** 3);
    expect(report).toMatch(/^native: TensorFlow [\d.]+ on (a CUDA device|\w+ CPU threads) in graphs; /);
    expect(report).toMatch(/on a CUDA device|built for CUDA, but TensorFlow finds no device/);
    expect(node('infra/tensorflow/setup-native.ts', '--gpu').stderr).toContain('ready in');
  },
);
