import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { LogConfig } from '../../shared/config/log.ts';
import { defined } from '../../shared/lang/defined.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { changeAccessKeys, createAccessKey, readAccessKeys } from '../../shared/runtime/access-keys.ts';
import { dataFolder } from '../../shared/runtime/data-folder.ts';
import { openKnownKeys } from '../../shared/runtime/known-keys.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { followKeys, openKeys } from '../../shared/runtime/open-keys.ts';
import { until } from './event-log-fixtures.ts';
import { describeWithKafka } from './kafka-node.ts';

describeWithKafka('access keys on Kafka, for hosts that share no folder', (kafka) => {
  let config: LogConfig;
  let deployment = 0;
  beforeEach(() => {
    deployment += 1;
    config = LogConfig.parse({
      log: 'kafka',
      kafkaBrokers: kafka().brokers,
      kafkaPrefix: `keys-${deployment}.`,
    });
  });

  const newHost = async () => {
    const root = await mkdtemp(join(tmpdir(), 'clawloop-host-'));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    return dataFolder(root);
  };
  type Host = Awaited<ReturnType<typeof newHost>>;

  /** Runs a change like `clawloop keys` on a host. Resolves to what it says about moved keys. */
  const command = async (
    host: Host,
    change: (keys: Awaited<ReturnType<typeof openKeys>>) => Promise<unknown> = async () => {},
  ): Promise<readonly string[]> => {
    const said: string[] = [];
    const keys = await openKeys(config, host, (text) => said.push(text));
    try {
      await change(keys);
    } finally {
      await keys.close();
    }
    return said;
  };
  const create = async (host: Host, name: string) => {
    const made: { id: string; secret: string }[] = [];
    await command(host, async (keys) => made.push(await keys.create(name, { requestsPerMinute: 7 })));
    return made[0]!;
  };
  const idsIn = async (host: Host) => (await readAccessKeys(host.keys)).map(({ id }) => id).sort();

  /** The keys as a serving of the host has them, with the lines of its log. */
  const serve = async (host: Host, fingerprint?: string) => {
    const lines: string[] = [];
    const logger = createLogger('serving', 'info', { write: (line) => void lines.push(line) });
    const stop = new AbortController();
    const keys = await followKeys(config, host, { logger, signal: stop.signal, ...defined({ fingerprint }) });
    const close = async () => {
      stop.abort();
      await keys.done;
      await keys.close();
    };
    onTestFinished(close);
    return { keys, lines, close, known: openKnownKeys({ keys, configured: undefined, always: false }) };
  };

  test('a key that is made on one host works on each, until any host removes it', async () => {
    const [here, there] = [await newHost(), await newHost()];
    const serving = await serve(there);
    expect(await serving.known.anonymous()).toBeDefined();
    const { id, secret } = await create(here, 'ann');
    await until(async () => (await serving.known.anonymous()) === undefined);
    expect(await serving.known.holderOf(secret)).toMatchObject({
      keyId: id,
      limits: { requestsPerMinute: 7 },
    });
    const bob = await create(there, 'bob');
    await command(there, async (keys) => expect(await keys.remove(id)).toBe(true));
    await until(async () => (await serving.known.holderOf(secret)) === undefined);
    await command(here, async (keys) => expect(await keys.remove(id)).toBe(false));
    await serving.close();
    const again = await serve(there);
    expect(await again.known.holderOf(secret)).toBeUndefined();
    expect(await again.known.holderOf(bob.secret)).toMatchObject({ keyId: bob.id });
    expect([await idsIn(here), await idsIn(there)]).toEqual([[bob.id], [bob.id]]);
    expect([...serving.lines, ...again.lines].join()).not.toContain(bob.secret);
  });

  test('keys of a folder move at the first start, and those that were removed do not return', async () => {
    const [first, late] = [await newHost(), await newHost()];
    const [kept, removed] = [
      await createAccessKey(first.keys, 'ann'),
      await createAccessKey(first.keys, 'bob'),
    ];
    const copied = await readAccessKeys(first.keys);
    const serving = await serve(first);
    expect(serving.lines.join()).toContain(`moved 2 access keys of ${first.keys} to the topic`);
    await command(first, (keys) => keys.remove(removed.id));
    // the copy that the operator once took to the other host, with a key that only this host has
    const own = await createAccessKey(late.keys, 'carol');
    await changeAccessKeys(late.keys, (before) => [...before, ...copied]);
    expect(await command(late)).toEqual([
      expect.stringMatching(new RegExp(`moved 1 access key .*${own.id}$`)),
    ]);
    await until(async () => (await serving.known.holderOf(own.secret)) !== undefined);
    expect(await serving.known.holderOf(removed.secret)).toBeUndefined();
    expect(await idsIn(late)).toEqual([kept.id, own.id].sort());
    await until(async () => (await idsIn(first)).length === 2);
    expect(await command(late)).toEqual([]);
  });

  test('while the broker is away, the last known keys stay in force; later changes arrive when it is back', async () => {
    const host = await newHost();
    const { id, secret } = await create(host, 'ann');
    const serving = await serve(host);
    await kafka().kill();
    await until(
      () => serving.lines.some((line) => line.includes('the last known keys stay in force')),
      60_000,
    );
    expect(await serving.known.holderOf(secret)).toMatchObject({ keyId: id });
    expect(await serving.known.anonymous()).toBeUndefined();
    await expect(command(host)).rejects.toMatchObject({ name: 'LogUnavailable' });
    await kafka().restart();
    await command(await newHost(), (keys) => keys.remove(id));
    await until(async () => (await serving.known.holderOf(secret)) === undefined, 60_000);
    await until(() => serving.lines.some((line) => line.includes('the access keys can be read again')));
  });

  test('if the topic is lost, a running service keeps its keys, and a start adds them from the copy', async () => {
    const [here, there] = [await newHost(), await newHost()];
    const { secret } = await create(here, 'ann');
    const serving = await serve(there);
    const admin = connectTo({ brokers: config.kafkaBrokers, prefix: config.kafkaPrefix }).kafka.admin();
    await admin.connect();
    onTestFinished(() => admin.disconnect());
    await admin.deleteTopics({ topics: [`${config.kafkaPrefix}keys`] });
    await until(
      () => serving.lines.some((line) => line.includes('the last known keys stay in force')),
      60_000,
    );
    expect(await serving.known.holderOf(secret)).toBeDefined();
    expect(await command(here)).toEqual([expect.stringContaining('moved 1 access key')]);
    const other = await create(here, 'bob');
    await until(async () => (await serving.known.holderOf(other.secret)) !== undefined, 60_000);
    expect(await serving.known.holderOf(secret)).toBeDefined();
  });

  test('servings that sign with different secrets do not run together, whichever starts first', async () => {
    const hosts = [await newHost(), await newHost(), await newHost()];
    const started = await Promise.allSettled(hosts.map((host, at) => serve(host, `secret ${at}`)));
    const winner = started.findIndex(({ status }) => status === 'fulfilled');
    expect(started.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const { status, ...result } of started)
      if (status === 'rejected')
        expect(result).toMatchObject({
          reason: { name: 'Refusal', message: expect.stringContaining('CLAWLOOP_SERVING_SESSION_SECRET') },
        });
    const loser = (winner + 1) % 3;
    await serve(hosts[loser]!, `secret ${winner}`);
    await command(hosts[loser]!, (keys) => keys.resetSecret!());
    const first = started[winner] as PromiseFulfilledResult<Awaited<ReturnType<typeof serve>>>;
    const next = await serve(hosts[loser]!, 'a new secret');
    await until(() => first.value.lines.some((line) => line.includes('sign with a new session secret')));
    await expect(serve(hosts[winner]!, `secret ${winner}`)).rejects.toMatchObject({ name: 'Refusal' });
    expect(next.lines.join()).not.toContain('sign with a new session secret');
  });

  test('a damaged file is refused before anything is moved', async () => {
    const host = await newHost();
    await writeFile(host.keys, '{broken');
    await expect(serve(host)).rejects.toMatchObject({ name: 'Refusal' });
    await expect(command(host)).rejects.toMatchObject({ name: 'Refusal' });
  });
});
