import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { describeOnBackends } from '../testing/backends.ts';
import { openBackend, prepareNativeEnvironment } from './backend.ts';
import { nativeInstalled } from './native.ts';

const source = `
  const { parentPort, workerData } = require('node:worker_threads');
  import(workerData.backend)
    .then(({ openBackend }) => openBackend(workerData.choice))
    .then((executor) => {
      const tensor = executor.upload(Float32Array.of(1, 2), [2]);
      parentPort.postMessage({ kind: executor.kind, values: [...executor.read(tensor)] });
    });
`;

describeOnBackends('a backend', (_, choice) => {
  test('loads in two worker threads at the same time', async () => {
    prepareNativeEnvironment();
    const workerData = { choice, backend: new URL('./backend.ts', import.meta.url).href };
    const answers = [1, 2].map(async () => {
      const worker = new Worker(source, { eval: true, workerData });
      try {
        return await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
      } finally {
        await worker.terminate();
      }
    });
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ kind: choice, values: [1, 2] });
    }
  });
});

test('the report names the backend and a faster alternative', async () => {
  const executor = await openBackend('auto');
  expect(executor.kind).toBe(nativeInstalled() ? 'native' : 'wasm');
  expect(executor.report).toMatch(nativeInstalled() ? /^native: TensorFlow \d/ : /^wasm: .*setup:native/);
});
