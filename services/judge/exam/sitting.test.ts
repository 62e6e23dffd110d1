import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Judge } from '../judges/judge.ts';
import { readExchanges } from './exam.ts';
import { openSitting } from './sitting.ts';
import { type Behaviour, startExamServer, until } from './testing/exam-server.ts';

const LIMIT_MS = 300_000;
const exchanges = readExchanges();
const never = new AbortController().signal;
const closes: (() => void)[] = [];
// fake timers for the time limit only; the network is real
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  vi.useRealTimers();
  for (const close of closes.splice(0)) close();
});

async function sitAt(behaviour: Behaviour, concurrency = 4) {
  const server = await startExamServer(behaviour);
  closes.push(server.close);
  const settings = { concurrency, timeLimitMs: LIMIT_MS, asksServer: true };
  return { server, sitting: openSitting(server.judge, exchanges, settings) };
}
const pass = () => vi.advanceTimersByTimeAsync(LIMIT_MS);

test('a server that accepts questions but answers none counts as unreachable', async () => {
  const { server, sitting } = await sitAt(() => 'hang');
  const first = expect(sitting.sit(never)).rejects.toMatchObject({ code: 'judge_silent' });
  await until(() => server.hanging() === 4);
  await pass();
  await first;
  expect(server.asked).toHaveLength(4);
  await until(() => server.left() === 4); // the client aborted the requests
  server.become(() => 'right');
  expect(await sitting.sit(never)).toMatchObject({ right: 40, unanswered: 0, passed: true });
  expect(server.asked).toHaveLength(44);
  expect(server.asked.slice(-4).sort()).toEqual([...server.asked.slice(0, 4)].sort()); // last of all
});

test('a late exchange counts as wrong if others were answered meanwhile', async () => {
  const { server, sitting } = await sitAt((index) => (index === 0 ? 'hang' : 'right'));
  const sat = sitting.sit(never);
  await until(() => sitting.answered() === 39);
  await pass();
  expect(await sat).toMatchObject({ right: 39, unanswered: 1, passed: true, tooSlow: false });
  expect(server.asked).toHaveLength(40);
});

test('with concurrency 1 an unanswered exchange does not block the exam', async () => {
  const { server, sitting } = await sitAt((index) => (index === 0 ? 'hang' : 'right'), 1);
  const first = expect(sitting.sit(never)).rejects.toMatchObject({ code: 'judge_silent' });
  await until(() => server.hanging() === 1);
  await pass();
  await first;
  const second = sitting.sit(never);
  await until(() => server.hanging() === 2);
  await pass();
  expect(await second).toMatchObject({ right: 39, unanswered: 1, passed: true });
});

test('exchanges that a failing server has answered are not asked again', async () => {
  let asked = 0;
  const { server, sitting } = await sitAt(() => (++asked > 12 ? 503 : 'right'));
  await expect(sitting.sit(never)).rejects.toThrow('503');
  expect(sitting.answered()).toBe(12);
  const failed = server.asked.length - 12;
  expect(failed).toBeLessThanOrEqual(4); // asking stops after a failure
  server.become(() => 'right');
  expect(await sitting.sit(never)).toMatchObject({ right: 40, passed: true });
  expect(server.asked).toHaveLength(40 + failed);
});

test('a server that always fails on a few exchanges passes with the others', async () => {
  const fails = exchanges.flatMap(({ verdict }, index) => (verdict === -1 ? [index] : [])).slice(0, 2);
  const { sitting } = await sitAt((index) => (fails.includes(index) ? 500 : 'right'), 1);
  await expect(sitting.sit(never)).rejects.toThrow('500');
  await expect(sitting.sit(never)).rejects.toThrow('500');
  expect(await sitting.sit(never)).toMatchObject({ right: 38, unanswered: 2, passed: true });
});

test('a local model that never answers fails as soon as it can no longer pass', async () => {
  const asked: string[] = [];
  const deaf: Pick<Judge, 'vote'> = {
    vote: async ({ turnId }) => {
      asked.push(turnId);
      return await new Promise(() => {}); // whatever its signal says
    },
  };
  const settings = { concurrency: 4, timeLimitMs: LIMIT_MS, asksServer: false };
  const sat = openSitting(deaf, exchanges, settings).sit(never);
  for (let limits = 0; limits < 4; limits++) await pass();
  expect(await sat).toMatchObject({ right: 0, of: 40, unanswered: 40, passed: false, tooSlow: true });
  expect(asked.length).toBeLessThan(20);
});

test('shutdown ends an exam whose server hangs', async () => {
  const { server, sitting } = await sitAt(() => 'hang');
  const stop = new AbortController();
  const sat = sitting.sit(stop.signal);
  await until(() => server.hanging() === 4);
  stop.abort(new Error('stopping'));
  await expect(sat).rejects.toThrow('stopping');
  await until(() => server.left() === 4);
  expect(server.asked).toHaveLength(4);
  await expect(sitting.sit(stop.signal)).rejects.toThrow('stopping');
});
