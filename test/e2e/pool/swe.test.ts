import { afterEach, expect, test } from 'vitest';
import type { Agent } from '../../../clients/rollout/contract.ts';
import { attempts, calls, sweTask } from './attempts.ts';
import { type SwePool, swePool } from './stand-ins/swe.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open(options?: Parameters<typeof swePool>[0]): Promise<SwePool> {
  const pool = await swePool(options);
  closing.push(pool.kill);
  return pool;
}

const run = (pool: SwePool, given: Parameters<typeof attempts>[1]) =>
  attempts({ url: pool.url, kind: 'swe' }, given);

const bash = (command: string) => ['bash', { command }] as const;
const fixes = calls(bash('echo fixed > sum.py'));

test('a patch is tested in a fresh container, after the first one was given back', async () => {
  const pool = await open();
  const { kinds } = await run(pool, { agent: fixes });
  expect(kinds).toEqual([1]);
  expect(pool.paths()).toEqual(['/allocate', '/exec', '/diff', '/close', '/allocate', '/evaluate', '/close']);
  const image = { image: sweTask.image_name };
  expect(pool.calls[0]!.body).toEqual({ ...image, instance_id: 'ann__calc-7' });
  expect(pool.calls[4]!.body).toEqual({ ...image, instance_id: 'ann__calc-7__eval' });
  expect(pool.calls[1]!.body).toMatchObject({ command: 'echo fixed > sum.py', cwd: '/testbed', timeout: 5 });
  const { lease_id: used, ...evaluated } = pool.calls[5]!.body;
  expect(used).not.toBe(pool.calls[1]!.body.lease_id);
  expect(evaluated).toEqual({
    patch: expect.stringMatching(/^diff --git a\/sum.py/),
    eval_script: 'fixed',
    cwd: '/testbed',
    timeout: 3600,
  });
  expect(pool.open()).toBe(0);
});

test('a patch that does not help scores 0, and so does an unchanged repository, without a test', async () => {
  const pool = await open();
  expect((await run(pool, { agent: calls(bash('echo wrong > sum.py')) })).kinds).toEqual([0]);
  expect(pool.count('/evaluate')).toBe(1);
  expect((await run(pool, { agent: calls(bash('cat sum.py')) })).kinds).toEqual([0]);
  expect(pool.count('/evaluate')).toBe(1);
  expect(pool.open()).toBe(0);
});

test.each([
  { resolved: false, error: 'pool error: 500 from http://10.0.0.10:5000' },
  { resolved: false, error: 'git apply failed: error: cannot apply binary patch' },
  { resolved: false, error: 'Evaluation timed out after 3600s' },
  { resolved: false, returncode: 137, output: 'Killed' },
  { resolved: false, returncode: 1, output: 'Error response from daemon: container is not running' },
  { resolved: false },
  {},
])('the answer %j is no rating, although it has `ok`', async (answer) => {
  const pool = await open();
  pool.faults(({ path }) =>
    path === '/evaluate' ? { kind: 'refuse', status: 200, body: { ok: true, ...answer } } : undefined,
  );
  const { kinds } = await run(pool, { agent: fixes, retries: 1 });
  expect(kinds).toEqual(['evaluation-failed']);
  expect([pool.count('/evaluate'), pool.count('/diff'), pool.open()]).toEqual([2, 1, 0]);
});

test('attempts that wait for a container for their tests keep no other container', async () => {
  const pool = await open({ room: 2 });
  const { kinds } = await run(pool, { agent: fixes, n: 4, concurrency: 3 });
  expect(kinds).toEqual([1, 1, 1, 1]);
  expect(pool.mostOpen()).toBeLessThanOrEqual(2);
  expect(pool.open()).toBe(0);
});

test('the shell of an agent is the container: status, output, and a command that takes too long', async () => {
  const pool = await open();
  const agent: Agent = async ({ environment, signal }) => [
    await environment!.shell!('cat none', signal),
    await environment!.shell!('sleep', signal),
  ];
  const { settled } = await run(pool, { agent });
  expect(settled[0]!.outcome).toMatchObject({
    result: [
      { code: 1, output: 'cat: none: No such file or directory\n' },
      { code: undefined, output: 'Command timed out after 5s' },
    ],
  });
  const { settled: called } = await run(pool, {
    agent: calls(bash('cat none'), ['bash', {}], bash('sleep')),
  });
  expect(called[0]!.outcome).toMatchObject({
    result: [
      'cat: none: No such file or directory\n\n[exit status 1]',
      'bash needs a `command`.',
      expect.stringMatching(/\[timed out after 5 s\]/),
    ],
  });
});

test('a container that is gone loses the attempt, also through the shell', async () => {
  const pool = await open();
  const agent: Agent = async ({ environment, signal }) => {
    pool.loseContainers();
    return environment!.shell!('cat a', signal).catch(() => 'all is well');
  };
  expect((await run(pool, { agent })).kinds).toEqual(['environment-lost']);
  expect(pool.open()).toBe(0);
});

test('a policy that prints the words of a lost container is still scored', async () => {
  const pool = await open();
  const says = bash('echo Error response from daemon: gone; false');
  expect((await run(pool, { agent: calls(says) })).kinds).toEqual([0]);
});

test('a request to /allocate with a lost answer is reported, not repeated', async () => {
  const pool = await open();
  pool.faults(({ path }) => (path === '/allocate' ? { kind: 'drop-answer' } : undefined));
  const { kinds, earlier, remarks } = await run(pool, { agent: fixes, retries: 1 });
  expect([kinds, earlier]).toEqual([['environment-lost'], [['environment-lost']]]);
  expect(pool.count('/allocate')).toBe(2); // one for each try
  expect(remarks).toEqual([expect.stringMatching(/^2 answers to \/allocate were lost/)]);
});

test('a command is never sent twice', async () => {
  const pool = await open();
  pool.faults(({ path }) => (path === '/exec' ? { kind: 'drop-answer' } : undefined));
  expect((await run(pool, { agent: fixes })).kinds).toEqual(['environment-lost']);
  expect([pool.count('/exec'), pool.open()]).toEqual([1, 0]);
});

test.each(['/allocate', '/exec', '/diff', '/evaluate'])(
  'a rollout that is stopped during %s leaves no container behind',
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
    const { kinds, strays } = await run(pool, { agent: fixes, stop: stop.signal });
    expect([kinds, strays.count, pool.open()]).toEqual([['interrupted'], 0, 0]);
  },
);
