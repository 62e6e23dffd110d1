import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

/** A turn has eight records. With an object per turn in each check, these turns need more than 60 MiB. */
const TURNS = 10_000;
const HEAP_MIB = 48;

test('the audit of 10,000 turns fits into a small heap, because it keeps columns instead of objects', async () => {
  const worker = new Worker(new URL('./testing/settled-turns.ts', import.meta.url), {
    workerData: { turns: TURNS },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
  });
  const [code] = await once(worker, 'exit');
  expect(code).toBe(0);
});
