import { afterEach, expect, test } from 'vitest';
import { openEnvDriver } from '../../../clients/environments/openenv/driver.ts';
import { formatSummary } from '../../../clients/rollout/summary.ts';
import { kindsOf, roll } from '../../../clients/rollout/testing/roll.ts';
import { until } from '../harness/clawloop.ts';
import { hostileOpenEnv, shows } from './hostile-server.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const signal = new AbortController().signal;
const say = (id: string) => ({ id, name: 'say', arguments: { text: 'red' } });

async function serve(behaviour: Parameters<typeof hostileOpenEnv>[0]) {
  const server = await hostileOpenEnv(behaviour);
  closing.push(server.kill);
  return { ...server, driver: openEnvDriver({ url: server.url, actLimitMs: 5_000 }) };
}

test('a server that ignores a close keeps neither the connection nor this process alive', async () => {
  const { driver, open } = await serve({
    ignoresClose: true,
    onMessage: (_, send) => send(shows('hello')),
  });
  const environment = await driver.open({}, { id: 'e', seed: 0, signal });
  expect(open()).toBe(1);
  await environment.close();
  await until('the connection ends', () => open() === 0, 10_000);
});

test('an extra reply loses the attempt: it is never taken for the reply to the next action', async () => {
  const { driver } = await serve({
    onMessage: ({ type }, send) => {
      send(shows(type));
      if (type === 'reset') send(shows('wrong', { reward: 1, done: true }));
    },
  });
  const { settled } = await roll({
    tasks: 1,
    n: 1,
    environments: driver,
    reward: undefined,
    agent: ({ environment }) => environment!.act(say('1'), signal),
  });
  expect(kindsOf(settled)).toEqual(['environment-lost']);
});

/** An error of OpenEnv with a code. */
const fails = (code: string) => ({ type: 'error', data: { message: code, code } });

test.each([
  ['a connection that breaks', 'environment-lost', { breaksAt: 'step' }],
  ['a full server', 'environment-unavailable', { reset: fails('CAPACITY_REACHED') }],
  ['an action that fails', 'environment-broken', { step: fails('EXECUTION_ERROR') }],
] as const)('%s is counted as %s, and never scored or trained on', async (_, kind, behaviour) => {
  const { reset = shows('hello'), step = shows('hello', { reward: 1, done: true }) } = {
    ...(behaviour as { readonly reset?: object; readonly step?: object }),
  };
  const { driver } = await serve({
    ...behaviour,
    onMessage: ({ type }, send) => send(type === 'reset' ? reset : step),
  });
  const { settled, opened, summary } = await roll({
    tasks: 1,
    n: 2,
    concurrency: 1,
    environments: driver,
    reward: undefined,
    roomTimeoutMs: 1,
    agent: ({ environment }) => environment!.act(say('1'), signal),
  });
  expect(kindsOf(settled)).toEqual([kind, kind]);
  expect(opened.map(({ ended }) => ended)).toEqual(['discarded', 'discarded']);
  const text = formatSummary(summary, { count: 0, ms: 0 });
  expect(text).toMatch(/excluded 2 of 2 attempts/);
  expect(text).toContain(kind);
});

test('a stop while a handshake hangs is an interruption at once', async () => {
  const { driver } = await serve({ hangsAtHandshake: true, onMessage: () => {} });
  const stop = new AbortController();
  const watched = {
    ...driver,
    open: (...input: Parameters<typeof driver.open>) => {
      setImmediate(() => stop.abort());
      return driver.open(...input);
    },
  };
  const { settled } = await roll({
    tasks: 1,
    n: 1,
    environments: watched,
    reward: undefined,
    stop: stop.signal,
  });
  expect(kindsOf(settled)).toEqual(['interrupted']);
});

test('data that `reset` cannot take, and a server that does not answer, are refused before anything starts', async () => {
  const { driver } = await serve({ onMessage: () => {} });
  await expect(driver.prepare!([{ name: 'task-2', data: 'red' }])).rejects.toThrow(
    /task-2 is not a JSON object/,
  );
  const nobody = openEnvDriver({ url: 'http://127.0.0.1:9', actLimitMs: 1 });
  await expect(nobody.prepare!([{ name: 'a', data: {} }])).rejects.toThrow(/no OpenEnv server answers/);
});
