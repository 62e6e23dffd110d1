import { expect, test, vi } from 'vitest';
import { createLogger } from '../../../shared/runtime/logger.ts';
import type { ServedCanary } from './head-view.ts';
import { isChosen, serveCanary } from './serve-canary.ts';

const canary = (version: number, share = 1): ServedCanary => ({ policy: { version }, share });

function deps(load: (version: number) => Promise<void>) {
  let say: (canary: ServedCanary | undefined) => void = () => {};
  const loads: number[] = [];
  const choice = serveCanary({
    view: {
      onCanary: (listener) => {
        say = listener;
      },
    },
    engine: {
      serve: async (_, { version }) => {
        loads.push(version);
        await load(version);
      },
    },
    adapter: 'default',
    logger: createLogger('test', 'silent'),
  });
  return { choice, loads, say: (one: ServedCanary | undefined) => say(one) };
}

test('sessions meet a candidate from when it is loaded until its canary ends', async () => {
  const gate = Promise.withResolvers<void>();
  const { choice, loads, say } = deps((version) => (version === 0 ? Promise.resolve() : gate.promise));
  expect(choice.aliasFor('s')).toBeUndefined();
  say(canary(3));
  expect(choice.aliasFor('s')).toBeUndefined();
  gate.resolve();
  await vi.waitFor(() => expect(choice.aliasFor('s')).toBeDefined());
  expect(choice.aliasFor('s')).not.toBe('default');
  say(undefined);
  expect(choice.aliasFor('s')).toBeUndefined();
  expect(loads).toEqual([3, 0]); // the base takes its place, which frees it
});

test('a candidate that cannot be loaded, or that ends while it loads, is never chosen', async () => {
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { choice, say } = deps((version) => gates[version - 1]?.promise ?? Promise.resolve());
  say(canary(1));
  say(canary(2));
  gates[0]!.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(choice.aliasFor('s')).toBeUndefined();
  gates[1]!.reject(new Error('its digest differs'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(choice.aliasFor('s')).toBeUndefined();
});

test('the share is kept, a session stays where it is, and another candidate gets other sessions', () => {
  const sessions = Array.from({ length: 4_000 }, (_, i) => `session ${i}`);
  const chosen = (version: number) => sessions.filter((session) => isChosen(session, canary(version, 0.1)));
  const [first, second] = [chosen(3), chosen(4)];
  expect(chosen(3)).toEqual(first);
  // four standard deviations of a binomial with 4000 trials at 0.1
  expect(Math.abs(first.length - 400)).toBeLessThan(4 * Math.sqrt(4_000 * 0.1 * 0.9));
  expect(first.filter((session) => second.includes(session)).length).toBeLessThan(100);
});
