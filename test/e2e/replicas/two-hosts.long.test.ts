import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { S3Server } from '../../../infra/s3/start-s3.ts';
import { openBucket } from '../../../shared/bucket/open-bucket.ts';
import type { Bucket } from '../../../shared/policy/checkpoints/bucket.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { describeWithS3, newBucket, type TestBucket } from '../../contract/with-s3.ts';
import { until } from '../harness/clawloop.ts';
import { ask, converse, untilItServes } from './chat.ts';
import { type Deployment, openDeployment, type Replica } from './deployment.ts';
import { type LogReader, openLogReader } from './log-reader.ts';

const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];
const timing = ['--session-timeout-ms', '4000'];
const SESSION_SECRET = 'the same on each host';
/** ms for a step on a busy machine */
const LIMIT_MS = 300_000;
const hosts = ['serving', 'trainer', 'second'] as const;

describeWithKafka('two hosts on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    describeWithS3('with a bucket, and nothing else in common', (s3) => {
      let root: string;
      let on: TestBucket;
      let bucket: Bucket;
      let deployment: Deployment;
      let log: LogReader;
      let serving: Replica;
      let other: Replica;
      let trainer: Replica;
      let taught = 0;

      const folderOf = (host: (typeof hosts)[number]) => join(root, host);
      const secrets = (server: S3Server) => ({
        CLAWLOOP_S3_ACCESS_KEY_ID: server.accessKeyId,
        CLAWLOOP_S3_SECRET_ACCESS_KEY: server.secretAccessKey,
        CLAWLOOP_SERVING_SESSION_SECRET: SESSION_SECRET,
      });
      const atHost = (host: (typeof hosts)[number]) => [
        ...timing,
        '--data-folder',
        folderOf(host),
        '--checkpoints',
        on.config.checkpoints!,
        '--s3-endpoint',
        s3().url,
      ];

      const trainerAt = (host: (typeof hosts)[number]) => [...atHost(host), '--niceness', '0'];

      beforeAll(async () => {
        root = await mkdtemp(join(tmpdir(), 'clawloop-hosts-'));
        on = await newBucket(s3());
        bucket = openBucket(on.place);
        Object.assign(process.env, secrets(s3()));
        deployment = await openDeployment({ kafka: kafka().brokers, redis: redis().url });
        await deployment.command('topics', 'create');
        log = await openLogReader(deployment.folder);
        const { start, ready } = deployment;
        const others = [
          await start('collector', [...timing, '--batch-size', '2', '--sweep-ms', '1000']),
          await start('judge', timing),
        ];
        serving = await ready(await start('serving', atHost('serving')));
        trainer = await ready(await start('trainer', trainerAt('trainer')));
        for (const one of others) await ready(one);
        other = await ready(await start('serving', atHost('second')));
      });
      afterAll(async () => {
        await log?.close();
        await deployment?.dispose();
        await bucket?.close();
        for (const name of Object.keys(secrets(s3()))) delete process.env[name];
        await rm(root, { recursive: true, force: true });
      });

      const promoted = () => log.of('policy.promoted').map(({ data }) => data);
      const versionServed = async (by: Replica) =>
        (await ask(by, [{ role: 'user', content: 'Hello.' }])).version;
      /** One person chats until there are as many batches. */
      const chatUntil = async (what: string, isThere: () => boolean | Promise<boolean>) => {
        await until(
          what,
          async () => {
            await converse([serving], [`How do I pack for trip ${taught}?`, reactions[taught++ % 4]!]);
            await log.reachEnd();
            return isThere();
          },
          LIMIT_MS,
        );
      };
      /** Batches without an outcome. */
      const openBatches = () => {
        const outcomes = [
          ...log.of('policy.promoted'),
          ...log.of('policy.rejected'),
          ...log.of('policy.update-failed'),
        ];
        const ended = new Set(outcomes.map(({ data }) => data.batchId));
        return log.of('batch.submitted').filter(({ data }) => !ended.has(data.batchId)).length;
      };
      const isWaiting = () => trainer.output().includes('waiting for the checkpoints');
      /** Ends when every batch has its outcome. */
      const untilSettled = async () => {
        await until('no batch is open', () => openBatches() === 0, LIMIT_MS);
        expect(log.of('policy.update-failed')).toEqual([]);
      };

      test('a version that one host trains is served by the other', async () => {
        await chatUntil('a version is promoted', () => promoted().length > 0);
        await untilItServes(serving, (version) => version > 0, LIMIT_MS);
        const { checkpoint } = promoted()[0]!;
        const copied = await readdir(dataFolder(folderOf('serving')).checkpoints('default'));
        expect(copied.some((name) => promoted().some((one) => one.checkpoint === name))).toBe(true);
        expect((await bucket.list('default/manifests/')).map(({ key }) => key)).toContain(
          `default/manifests/${checkpoint}.json`,
        );
      });

      test('a trainer that is killed while the bucket is away loses nothing, even if another host goes on', async () => {
        const before = promoted().length;
        await s3().kill();
        await chatUntil('the trainer waits for the bucket', isWaiting);
        expect(await versionServed(serving)).toBeGreaterThan(0);
        const next = await deployment.start('trainer', trainerAt('second'));
        const standsBy = () => next.output().includes('another trainer of this log is working');
        await until('the other trainer stands by', standsBy, LIMIT_MS);
        expect(await next.isReady()).toBe(false);
        await trainer.end('SIGKILL');
        await s3().start();
        trainer = await deployment.ready(next);
        await chatUntil('a further version is promoted', () => promoted().length > before);
        const latest = promoted().at(-1)!.to;
        await untilItServes(serving, (version) => version >= latest, LIMIT_MS);
        await untilSettled();
      });

      test('the bucket goes away while a batch is open and comes back: serving answers, and the batch is trained', async () => {
        const before = promoted().length;
        await chatUntil('a batch is open', () => openBatches() > 0);
        await s3().kill();
        await chatUntil('the trainer waits for the bucket', isWaiting);
        expect(await versionServed(serving)).toBeGreaterThan(0);
        await s3().start();
        await chatUntil('a further version is promoted', () => promoted().length > before);
        await untilSettled();
        expect(await deployment.command('audit')).toMatch(/balances/);
      });

      /** Sends a request and tells its status, the id of its answer, and whether it was answered before. */
      const post = async (to: Replica, headers: Readonly<Record<string, string>> = {}) => {
        const response = await fetch(`${to.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: JSON.stringify({ model: 'clawloop', messages: [{ role: 'user', content: 'Hello.' }] }),
        });
        const { id } = (await response.json()) as { id?: string };
        return { status: response.status, id, isRepeated: response.headers.has('idempotent-replayed') };
      };

      test('a request that is repeated at another host, or sent to both, is answered once', async () => {
        const once = (name: string) => ({ 'idempotency-key': name });
        const first = await post(serving, once('first'));
        expect(first).toMatchObject({ status: 200, isRepeated: false });
        expect(await post(other, once('first'))).toEqual({ ...first, isRepeated: true });
        const both = await Promise.all([serving, other].map((to) => post(to, once('second'))));
        expect(new Set(both.map(({ id }) => id)).size).toBe(1);
        expect(both.filter(({ isRepeated }) => isRepeated)).toHaveLength(1);
      });

      test('a serving with another session secret is refused', async () => {
        const stranger = await deployment.start('serving', [
          ...atHost('trainer'),
          '--session-secret',
          'not the same on each host',
        ]);
        await until('it has ended', () => !stranger.isAlive(), LIMIT_MS);
        expect(stranger.output()).toContain('give all servings the same CLAWLOOP_SERVING_SESSION_SECRET');
        expect(stranger.output()).not.toContain('not the same on each host');
      });

      test('access keys that are made or removed anywhere count on each host', async () => {
        const created = async (name: string) =>
          (await deployment.command('keys', 'create', name)).split('\n')[0]!;
        const statusAt = async (to: Replica, key?: string) =>
          (await post(to, key === undefined ? {} : { authorization: `Bearer ${key}` })).status;
        const secret = await created('ann');
        for (const to of [serving, other]) {
          await until('no request is let in without a key', async () => (await statusAt(to)) === 401);
          expect(await statusAt(to, secret)).toBe(200);
        }
        const kept = await created('bob');
        const list = await deployment.command('keys', 'list');
        await deployment.command('keys', 'remove', /(key-\w+) +ann/.exec(list)![1]!);
        for (const to of [serving, other]) {
          await until('the removed key is refused', async () => (await statusAt(to, secret)) === 401);
          expect(await statusAt(to, kept)).toBe(200);
        }
        for (const one of [serving, other]) expect(one.output()).not.toContain(kept);
      });

      test('a trainer that stops for a while is replaced by that of another host, and ends when it goes on', async () => {
        const next = await deployment.start('trainer', trainerAt('trainer'));
        const standsBy = () => next.output().includes('another trainer of this log is working');
        await until('the other trainer stands by', standsBy, LIMIT_MS);
        trainer.signal('SIGSTOP');
        await deployment.ready(next);
        trainer.signal('SIGCONT');
        await until('the first has ended', () => !trainer.isAlive(), LIMIT_MS);
        expect(trainer.output()).toContain('another process has taken');
        expect(await next.isReady()).toBe(true);
        trainer = next;
      });

      test('no service prints a secret', () => {
        for (const one of [serving, other, trainer])
          for (const secret of [s3().secretAccessKey, SESSION_SECRET])
            expect(one.output()).not.toContain(secret);
      });
    });
  });
});
