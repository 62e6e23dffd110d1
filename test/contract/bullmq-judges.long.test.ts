import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import { turnCompleted } from '../../services/judge/testing/events.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { withRedis } from './bullmq-redis.ts';

const main = fileURLToPath(new URL('../../services/judge/main.ts', import.meta.url));
const until = (condition: () => unknown) => vi.waitFor(condition, { timeout: 45_000, interval: 20 });
const turns = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => turnCompleted(`t${from + n}`, { lane: `lane-${from + n}` }));

withRedis('two judges and one queue', (redis) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  async function openWorkplace() {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-judges-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const log = await openSqliteLog({
      folder: dataFolder(folder).log,
      partitions: 3,
      sessionTimeoutMs: 1000,
    });
    cleanups.push(() => log.close());
    const judged: string[] = [];
    const stop = new AbortController();
    const onRecord = ({ event }: { event: { type: string; id: string } }) => {
      if (event.type === 'judgment.reached') judged.push(event.id);
    };
    const following = log.follow('turns', {}, onRecord, { signal: stop.signal });
    cleanups.push(async () => {
      stop.abort();
      await following.done;
    });
    return { folder, log, judged };
  }

  async function startJudge(folder: string) {
    const flags = ['--data-folder', folder, '--session-timeout-ms', '1000', '--health-port', '0'];
    const ofQueue = ['--queue', 'redis', '--redis-url', redis().url, '--board-key', 'a-long-enough-key'];
    const child = spawn(process.execPath, [main, ...flags, ...ofQueue], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    cleanups.push(() => end(child, 'SIGKILL'));
    const port = await until(() => {
      const found = /"port":(\d+),"msg":"judging"/.exec(output)?.[1];
      expect(found).toBeDefined();
      return found;
    });
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const votes = async () =>
      Number(/clawloop_judge_votes_total\{.*\} (\d+)/.exec(await (await get('/metrics')).text())?.[1] ?? 0);
    return { child, get, votes, output: () => output };
  }

  async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    await exit;
  }

  test('they share the work, one takes over from the other, and Redis may be killed and restarted', async () => {
    const { folder, log, judged } = await openWorkplace();
    const [first, second] = await Promise.all([startJudge(folder), startJudge(folder)]);
    let sent = 0;
    await until(async () => {
      // At most 50 open turns, so that they can be judged within the limit below.
      if (sent - judged.length < 50) {
        await log.append(turns(sent, 10));
        sent += 10;
      }
      expect(await first.votes()).toBeGreaterThan(0);
      expect(await second.votes()).toBeGreaterThan(0);
    });
    // owed votes are added again much later, so no judge took a vote that it did not cast
    const asked = performance.now();
    await until(() => expect(judged).toHaveLength(sent));
    expect(performance.now() - asked).toBeLessThan(20_000);
    expect((await second.get('/board')).status).toBe(401);

    await end(first.child, 'SIGKILL');
    await redis().kill();
    await until(async () => expect(await (await second.get('/readyz')).text()).toContain('Redis at'));
    expect((await second.get('/healthz')).status).toBe(200);
    expect((await second.get('/metrics')).status).toBe(200);
    await log.append(turns(sent, 10));
    sent += 10;
    await redis().start();
    await until(async () => expect((await second.get('/readyz')).status).toBe(200));
    await until(() => expect(judged).toHaveLength(sent));
    expect(new Set(judged).size).toBe(sent);
    expect(second.output()).toContain('waiting for Redis at');

    await end(second.child, 'SIGTERM');
    expect(second.child.exitCode).toBe(0);
  });

  test('a judge waits for a Redis that is not running yet, and still ends within the drain time', async () => {
    await redis().kill();
    const { folder } = await openWorkplace();
    const { child, get, output } = await startJudge(folder);
    expect((await get('/readyz')).status).toBe(503);
    await until(() => expect(output()).toContain('waiting for Redis at'));
    await end(child, 'SIGTERM');
    expect(child.exitCode).toBe(0); // 1: the drain took too long
    await redis().start();
  });
});
