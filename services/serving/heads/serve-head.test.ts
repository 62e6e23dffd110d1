import { expect, test, vi } from 'vitest';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { createMetrics } from '../../../shared/runtime/metrics.ts';
import type { PolicyVersion } from '../generation.ts';
import { createServingMetrics } from '../metrics.ts';
import { serveHead } from './serve-head.ts';

function deps(
  load: (version: number, signal: AbortSignal) => Promise<void>,
  retryMs = 1,
  logger = createLogger('test', 'silent'),
) {
  let move: (head: PolicyVersion) => void = () => {};
  const loads: number[] = [];
  const facts: number[] = [];
  const served = serveHead({
    view: {
      onHead: (listener) => {
        move = listener;
      },
    },
    engine: {
      serve: async (_, { version }, signal) => {
        loads.push(version);
        await load(version, signal);
      },
    },
    recorder: {
      record: async (event) => {
        facts.push((event.data as { version: number }).version);
        return true;
      },
    },
    adapter: 'default',
    replica: 'r',
    metrics: createServingMetrics(createMetrics('test')),
    logger,
    retryMs,
  });
  return { served, move: (version: number) => move({ version }), loads, facts };
}

test('of the heads that arrive during a load, only the last is loaded', async () => {
  const gate = Promise.withResolvers<void>();
  const { served, move, loads, facts } = deps(() => gate.promise);
  for (const version of [1, 2, 3, 4]) move(version);
  gate.resolve();
  await vi.waitFor(() => expect(facts).toEqual([1, 4]));
  expect(loads).toEqual([1, 4]);
  expect(served.served()).toBe(4);
});

test('a failed load is retried, and the earlier version stays in service', async () => {
  let broken = true;
  const { served, move, loads, facts } = deps(async (version) => {
    if (version === 2 && broken) throw new Error('its digest differs');
  });
  move(1);
  await vi.waitFor(() => expect(facts).toEqual([1]));
  move(2);
  await vi.waitFor(() => expect(loads.filter((version) => version === 2).length).toBeGreaterThan(1));
  expect(served.served()).toBe(1);
  expect(served.problem()).toMatch(/version 2: .*digest/);
  broken = false;
  await vi.waitFor(() => expect(facts).toEqual([1, 2]));
  expect(served.served()).toBe(2);
  expect(served.problem()).toBeUndefined();
});

test('a new head is loaded immediately, even while a retry is pending', async () => {
  const broken = async (version: number) => {
    if (version === 1) throw new Error('its digest differs');
  };
  const { served, move, loads, facts } = deps(broken, 60_000);
  move(1);
  await vi.waitFor(() => expect(served.problem()).toMatch(/version 1/));
  move(2);
  await vi.waitFor(() => expect(facts).toEqual([2]));
  expect(loads).toEqual([1, 2]);
});

test('a version that is rolled back during its load is not served', async () => {
  const { served, move, loads, facts } = deps(async (version, signal) => {
    if (version === 3) await new Promise((_, reject) => signal.addEventListener('abort', reject));
  });
  move(2);
  await vi.waitFor(() => expect(facts).toEqual([2]));
  move(3);
  move(2);
  await new Promise((resolve) => setImmediate(resolve));
  expect(served.served()).toBe(2);
  move(4);
  await vi.waitFor(() => expect(facts).toEqual([2, 4]));
  expect(loads).toEqual([2, 3, 4]);
  expect([served.served(), served.problem()]).toEqual([4, undefined]);
});

test('a load that keeps failing for one reason is logged once a minute', async () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'error', { write: (line) => void lines.push(line) });
  const { move, loads } = deps(() => Promise.reject(new Error('another model')), 1, logger);
  move(1);
  await vi.waitFor(() => expect(loads.length).toBeGreaterThan(3));
  expect(lines).toHaveLength(1);
});
