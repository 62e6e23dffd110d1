import { afterEach, expect, test } from 'vitest';
import { poolDriver } from '../../../clients/environments/pool/driver.ts';
import { scriptedModel } from '../../../clients/environments/testing/scripted-model.ts';
import { toolsAgent } from '../../../clients/environments/tools-agent.ts';
import type { Agent } from '../../../clients/rollout/contract.ts';
import { attempts, calls, shell, terminalTask } from './attempts.ts';
import { type TerminalPool, TTL, terminalPool } from './stand-ins/terminal.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options?: Parameters<typeof terminalPool>[0]): Promise<TerminalPool> {
  const pool = await terminalPool(options);
  closing.push(pool.kill);
  return pool;
}

const run = (pool: TerminalPool, given: Parameters<typeof attempts>[1], heartbeatMs = 1_000_000) =>
  attempts({ url: pool.url, kind: 'terminal', heartbeatMs }, given);

const half = calls(shell('echo hello > a.txt'));

test('a model works in a terminal, and the pool scores it', async () => {
  const pool = await open();
  const model = await scriptedModel([
    { calls: [['shell_exec', '{"id":"s","command":"echo hello > a.txt","block":true}']] },
    { calls: [['shell_exec', '{"id":"s","command":"cat b.txt","block":true}']] },
    'Done.',
  ]);
  closing.push(model.close);
  const { kinds } = await run(pool, {
    agent: toolsAgent({ maxSteps: 5, model: 'clawloop' }),
    baseUrl: model.url,
  });
  expect(kinds).toEqual([0.5]);
  expect(pool.paths()).toEqual(['/allocate', '/reset', '/exec_tool', '/exec_tool', '/evaluate', '/close']);
  expect(pool.calls[0]!.body).toEqual({
    task_key: 'hello:seta/hello',
    request_id: expect.stringMatching(/^hello:seta\/hello:./),
  });
  expect(pool.calls[1]!.body).toMatchObject({
    task_meta: terminalTask.task,
    run_ctx: { uid: expect.stringMatching(/^[0-9a-f]+$/), group_index: 0, sample_index: 0 },
    task_timeouts: { ensure_image: 300, reset_session: 300, close_session: 60, eval: 600 },
  });
  const [first, , third] = model.requests;
  expect(first!.messages[0]!.content).toMatch(/Write hello to a.txt and b.txt/);
  expect(first!.tools!.map((tool) => tool.function.name)).toContain('shell_write_content_to_file');
  expect(third!.messages.at(-1)!.content).toBe('cat: b.txt: No such file');
  expect(pool.open()).toBe(0);
});

/** Thinks for several TTLs; each time it first waits for a sign of life. */
const thinksLong =
  (pool: TerminalPool, hears: boolean): Agent =>
  async (input) => {
    await calls(shell('echo hello > a.txt'))(input);
    for (let round = 0; round < 5; round++) {
      if (hears) await pool.answered('/heartbeat');
      pool.advance(TTL * 0.9);
    }
    return calls()(input);
  };

test('a lease lives as long as the model thinks', async () => {
  const pool = await open();
  const { kinds } = await run(pool, { agent: thinksLong(pool, true) }, 5);
  expect(kinds).toEqual([0.5]);
  expect(pool.open()).toBe(0);
});

test('a lease that the pool took back loses the attempt, also when only the rating notices', async () => {
  const pool = await open();
  let tries = 0;
  const { kinds, earlier } = await run(pool, {
    agent: (input) => (tries++ === 0 ? thinksLong(pool, false) : half)(input),
    retries: 1,
  });
  expect(kinds).toEqual([0.5]);
  expect(earlier).toEqual([['environment-lost']]);
});

test('a heartbeat that finds the lease gone stops the attempt before its next action', async () => {
  const pool = await open();
  const agent: Agent = async (input) => {
    await half(input);
    pool.advance(TTL * 2);
    await pool.answered('/heartbeat');
    return calls(['shell_exec', { command: 'never' }])(input);
  };
  const { kinds } = await run(pool, { agent }, 5);
  expect(kinds).toEqual(['environment-lost']);
  expect(pool.carriedOut.has('never')).toBe(false);
});

test.each(['drop', 'drop-answer'] as const)('an action is never sent twice (%s)', async (kind) => {
  const pool = await open();
  pool.faults(({ path }) => (path === '/exec_tool' ? { kind } : undefined));
  const { kinds, errors } = await run(pool, { agent: calls(shell('echo hello > a.txt')) });
  expect(kinds).toEqual(['environment-lost']);
  expect(errors[0]).toMatch(/exec_tool/);
  expect(pool.count('/exec_tool')).toBe(1);
  expect(pool.open()).toBe(0);
});

test('a retry of a lost attempt begins in a container of its own', async () => {
  const pool = await open();
  pool.faults(({ path }, nth) => (path === '/exec_tool' && nth === 0 ? { kind: 'drop' } : undefined));
  const { kinds, earlier } = await run(pool, { agent: half, retries: 1 });
  expect([kinds, earlier]).toEqual([[0.5], [['environment-lost']]]);
  expect([pool.count('/allocate'), pool.count('/reset'), pool.count('/close')]).toEqual([2, 2, 2]);
  expect(new Set(pool.calls.flatMap(({ body }) => body.request_id ?? [])).size).toBe(2);
  expect(pool.open()).toBe(0);
});

test('an action that takes too long is lost, and not scored', async () => {
  const pool = await open();
  pool.faults(({ path }) =>
    path === '/exec_tool' ? { kind: 'wait', until: pool.answered('/close') } : undefined,
  );
  const { kinds, errors } = await attempts(
    { url: pool.url, kind: 'terminal', actLimitMs: 20 },
    { agent: half },
  );
  expect(kinds).toEqual(['environment-lost']);
  expect(errors[0]).toMatch(/no answer within 0.02 s/);
  expect(pool.open()).toBe(0);
});

test('a full pool is waited for, and does not count as a retry', async () => {
  const pool = await open({ room: 1 });
  const { kinds, earlier } = await run(pool, { agent: half, n: 2, concurrency: 2 });
  expect([kinds, earlier]).toEqual([
    [0.5, 0.5],
    [[], []],
  ]);
  expect(pool.open()).toBe(0);
});

test('a reset that fails gives the lease back and is tried with another', async () => {
  const pool = await open();
  const body = { ok: false, error: 'image not found' };
  pool.faults(({ path }, nth) =>
    path === '/reset' && nth === 0 ? { kind: 'refuse', status: 500, body } : undefined,
  );
  const { kinds, earlier } = await run(pool, { agent: half });
  expect([kinds, earlier]).toEqual([[0.5], [[]]]);
  expect(pool.paths().slice(0, 4)).toEqual(['/allocate', '/reset', '/close', '/allocate']);

  pool.faults(({ path }) => (path === '/reset' ? { kind: 'refuse', status: 500, body } : undefined));
  const never = await run(pool, { agent: half, roomTimeoutMs: 1 });
  expect(never.kinds).toEqual(['environment-unavailable']);
  expect(never.errors[0]).toMatch(/image not found/);
  expect(pool.open()).toBe(0);
});

test('a request that the pool does not understand is not waited for', async () => {
  const pool = await open();
  const body = { ok: false, error: 'task_key is required' };
  pool.faults(() => ({ kind: 'refuse', status: 400, body }));
  expect((await run(pool, { agent: half })).kinds).toEqual(['environment-broken']);
});

test('a request to /allocate with a lost answer is repeated unchanged, and leaks no lease', async () => {
  const pool = await open();
  pool.faults(({ path }, nth) => (path === '/allocate' && nth === 0 ? { kind: 'drop-answer' } : undefined));
  const { kinds } = await run(pool, { agent: half });
  expect(kinds).toEqual([0.5]);
  const [first, second] = pool.calls.filter(({ path }) => path === '/allocate');
  expect(first!.body).toEqual(second!.body);
  expect(pool.open()).toBe(0);
});

test('a failed evaluation is repeated once, and a second failure is not scored', async () => {
  const pool = await open();
  const body = { ok: false, error: 'Failed to parse test output' };
  let failures = 1;
  pool.faults(({ path }) =>
    path === '/evaluate' && failures-- > 0 ? { kind: 'refuse', status: 500, body } : undefined,
  );
  expect((await run(pool, { agent: half, retries: 1 })).kinds).toEqual([0.5]);
  failures = 2;
  const failed = await run(pool, { agent: half, retries: 1 });
  expect(failed.kinds).toEqual(['evaluation-failed']);
  expect(failed.opened.map(({ rewards, ended }) => [rewards, ended])).toEqual([[[], 'discarded']]);
  expect(pool.open()).toBe(0);
});

test.each([{}, { score: null }, { score: 'NaN' }, { score: 2 }])('%j is no score', async (answer) => {
  const pool = await open();
  pool.faults(({ path }) =>
    path === '/evaluate' ? { kind: 'refuse', status: 200, body: { ok: true, ...answer } } : undefined,
  );
  expect((await run(pool, { agent: half })).kinds).toEqual(['evaluation-failed']);
});

test('an evaluation may take longer than --reward-timeout', async () => {
  const pool = await open();
  const slow = Promise.withResolvers<void>();
  pool.faults(({ path }) => (path === '/evaluate' ? { kind: 'wait', until: slow.promise } : undefined));
  setTimeout(() => slow.resolve(), 50);
  expect((await run(pool, { agent: half, rewardTimeoutMs: 1 })).kinds).toEqual([0.5]);
});

test('a rating continues after its timeout, and a second one shares it', async () => {
  const pool = await open();
  const slow = Promise.withResolvers<void>();
  pool.faults(({ path }) => (path === '/evaluate' ? { kind: 'wait', until: slow.promise } : undefined));
  const driver = poolDriver({ url: pool.url, kind: 'terminal', actLimitMs: 5_000 });
  const signal = new AbortController().signal;
  const environment = await driver.open(terminalTask, { id: 'e', seed: 0, signal });
  const given = new AbortController();
  const first = environment.evaluate(given.signal);
  given.abort(new Error('given up'));
  await expect(first).rejects.toThrow('given up');
  const second = environment.evaluate(signal);
  slow.resolve();
  expect(await second).toEqual({ reward: 0, detail: {} });
  expect(pool.count('/evaluate')).toBe(1);
  await environment.close();
});

test.each(['/allocate', '/reset', '/exec_tool', '/evaluate'])(
  'a rollout that is stopped during %s leaves no lease behind',
  async (at) => {
    const pool = await open();
    const stop = new AbortController();
    const goesOn = Promise.withResolvers<void>();
    pool.faults(({ path }) => {
      if (path !== at) return undefined;
      stop.abort();
      setTimeout(() => goesOn.resolve(), 20);
      return { kind: 'wait', until: goesOn.promise };
    });
    const { kinds, strays } = await run(pool, { agent: half, stop: stop.signal });
    expect(kinds).toEqual(['interrupted']);
    expect(strays.count).toBe(0);
    expect(pool.open()).toBe(0);
    expect(pool.count('/close')).toBe(1);
  },
);

test('a close that gets no answer is repeated; a lease that is gone counts as closed', async () => {
  const pool = await open();
  pool.faults(({ path }, nth) => (path === '/close' && nth === 0 ? { kind: 'drop-answer' } : undefined));
  const { kinds, remarks } = await run(pool, { agent: half });
  expect([kinds, remarks, pool.open()]).toEqual([[0.5], [], 0]);
  const gone = { ok: false, error: "'Unknown lease_id: x'" };
  pool.faults(({ path }) => (path === '/close' ? { kind: 'refuse', status: 500, body: gone } : undefined));
  expect((await run(pool, { agent: half })).remarks).toEqual([]);
});

test('a failure of a tool or a wrong call is an observation', async () => {
  const pool = await open();
  const agent: Agent = async ({ environment, signal }) =>
    environment!.act({ id: '1', name: 'dance', arguments: {} }, signal);
  const { settled } = await run(pool, { agent });
  expect(settled[0]!.outcome).toMatchObject({
    reward: 0,
    result: { content: '[TOOL_ERROR] unknown tool: dance', isError: true },
  });
});

test('a server that is no pool, or data of another kind, is refused before anything starts', async () => {
  const pool = await open();
  const driver = poolDriver({ url: pool.url, kind: 'terminal', actLimitMs: 1 });
  const selection = { split: undefined, range: undefined };
  await expect(driver.tasks(selection)).rejects.toThrow(/--data/);
  const named = await driver.prepare!([{ name: 'task-1', data: terminalTask }]);
  expect(named).toEqual([{ name: 'hello', data: terminalTask }]);
  await expect(driver.prepare!([{ name: 'task-4', data: { task: { task_name: 'x' } } }])).rejects.toThrow(
    /task-4 is not a task of a terminal pool: task.task_path: .*; task.instruction/,
  );
  const nobody = poolDriver({ url: 'http://127.0.0.1:9', kind: 'terminal', actLimitMs: 1 });
  await expect(nobody.prepare!([])).rejects.toThrow(/no pool server answers/);
  expect(() => poolDriver({ url: pool.url, kind: undefined, actLimitMs: 1 })).toThrow(/terminal, gui or swe/);
  expect(() => poolDriver({ url: pool.url, kind: 'web', actLimitMs: 1 })).toThrow(/not 'web'/);
});
