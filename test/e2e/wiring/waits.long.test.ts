import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { freePort, until } from '../harness/clawloop.ts';
import { type ServiceProcess, serviceNames, startService, untilReady } from './service-process.ts';

const cli = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-waits-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Line = {
  readonly level: number;
  readonly msg: string;
  readonly seconds?: number;
  readonly reason?: string;
};
const linesOf = (service: ServiceProcess): readonly Line[] =>
  service
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
const waits = (service: ServiceProcess) =>
  linesOf(service).filter(({ msg }) => msg.startsWith('waiting for'));

test.concurrent('every service logs that it waits for Kafka, with address, reason and time, and ends on SIGTERM', async () => {
  const place = `127.0.0.1:${await freePort()}`;
  const flags = ['--data-folder', join(folder, 'kafka'), '--log', 'kafka', '--kafka-brokers', place];
  const services = serviceNames.map((name) => startService(name, flags));
  for (const service of services) {
    const [first, second] = await until('it says so twice', () => {
      const said = waits(service);
      return said.length >= 2 && said;
    });
    expect(first).toMatchObject({ msg: `waiting for Kafka at ${place}`, level: 40, seconds: 0 });
    expect(first!.reason).toContain('ECONNREFUSED');
    expect(second!.seconds).toBeGreaterThanOrEqual(5);
  }
  for (const { code, milliseconds } of await Promise.all(services.map((service) => service.stop()))) {
    expect(code).toBe(0);
    expect(milliseconds).toBeLessThan(9_000);
  }
});

test.concurrent('so does up, before it starts anything', async () => {
  const place = `127.0.0.1:${await freePort()}`;
  const up = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      cli,
      'up',
      '--no-console',
      '--data-folder',
      join(folder, 'up'),
      '--port',
      String(await freePort()),
      '--log',
      'kafka',
      '--kafka-brokers',
      place,
    ],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let said = '';
  up.stdout!.on('data', (part: Buffer) => {
    said += part.toString();
  });
  const ended = once(up, 'exit');
  await until('it says so twice', () => said.split('waiting for Kafka').length > 2);
  expect(said).toMatch(new RegExp(`waiting for Kafka at ${place}, 0 s so far: .*ECONNREFUSED`));
  up.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

test.concurrent.each(['judge', 'trainer'] as const)(
  '%s logs that it waits for Redis, and is not ready',
  async (name) => {
    const place = `127.0.0.1:${await freePort()}`;
    const redis = ['--queue', 'redis', '--redis-url', `redis://${place}`];
    const service = startService(name, ['--data-folder', join(folder, `redis-${name}`), ...redis]);
    const url = await service.url();
    await until('it says so twice', () => waits(service).length >= 2);
    expect(waits(service)[0]).toMatchObject({ msg: `waiting for Redis at ${place}` });
    // at intervals that grow, not at every try
    const [first, second] = waits(service);
    expect(second!.seconds! - first!.seconds!).toBeGreaterThanOrEqual(4);
    await until('only Redis is missing', async () => {
      const answer = await fetch(`${url}/readyz`);
      return answer.status === 503 && ((await answer.json()) as { missing: string }).missing.includes(place);
    });
    const { code, milliseconds } = await service.stop();
    expect(code).toBe(0);
    expect(milliseconds).toBeLessThan(9_000);
  },
);

withRedis('with Redis', (redis) => {
  test('a wrong password is refused; the right one is taken', async () => {
    const client = new Redis(redis().url);
    await client.config('SET', 'requirepass', 'a secret');
    const flags = ['--data-folder', join(folder, 'password'), '--queue', 'redis', '--redis-url', redis().url];
    for (const password of [[], ['--redis-password', 'another']]) {
      const { code, stderr } = await startService('judge', [...flags, ...password]).ended;
      expect(code).toBe(2);
      expect(stderr).toMatch(/clawloop judge: Redis at .* refused the connection: (NOAUTH|WRONGPASS)/);
    }
    const judge = startService('judge', [...flags, '--redis-password', 'a secret']);
    await untilReady(judge);
    expect((await judge.stop()).code).toBe(0);
    client.disconnect();
  });
});
