import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeWithKafka } from '../contract/kafka-node.ts';
import { until } from './harness/clawloop.ts';
import { type Deployment, openDeployment, type Replica } from './replicas/deployment.ts';
import { type RlClient, rlClient } from './rl-client.ts';
import { tinyModel } from './serving-process.ts';
import {
  deltaFrame,
  finishFrame,
  sendFrames,
  type UpstreamDouble,
  upstreamDouble,
  usageFrame,
} from './serving-upstream-double.ts';

/** ms: a little less than a replica waits for the end of the log, or for a record to be in it */
const GIVES_UP_MS = 1_900;

describeWithKafka('the session protocol on Kafka, with replicas that share nothing else', (kafka) => {
  let deployment: Deployment;
  let upstream: UpstreamDouble;
  let folders: readonly string[];
  let a: Replica;
  let b: Replica;
  const serving = async (folder: string) =>
    deployment.ready(
      await deployment.start('serving', [
        '--data-folder',
        folder,
        '--model',
        tinyModel,
        '--backend',
        'wasm',
        '--batch-size',
        '100',
        '--engine',
        'upstream',
        '--upstream-url',
        upstream.url,
        '--session-secret',
        'the same on all replicas',
      ]),
    );

  /** A replica gave up its wait for Kafka. Until it catches up, its waits are short and it may miss the latest records. */
  let isLate = false;
  const timed =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      const from = performance.now();
      try {
        return await call(...given);
      } finally {
        isLate ||= performance.now() - from >= GIVES_UP_MS;
      }
    };
  const clientOf = (replica: () => Replica): RlClient => {
    const { post, get, start, chat } = rlClient(() => replica().url);
    return { post: timed(post), get: timed(get), start: timed(start), chat: timed(chat) };
  };
  const [one, two] = [clientOf(() => a), clientOf(() => b)];
  /** Plays a round again if it fails while a replica is late, or right after that: such a round proves nothing. */
  const unlessLate = async (round: () => Promise<void>) => {
    let failure: unknown;
    const isPlayed = async () => {
      const wasLate = isLate;
      isLate = false;
      try {
        await round();
        return true;
      } catch (error) {
        failure = error;
        if (!isLate && !wasLate) throw error;
        return false;
      }
    };
    await until('a round in which no replica is late', isPlayed).catch((error: Error) => {
      throw failure ?? error;
    });
  };

  beforeAll(async () => {
    upstream = await upstreamDouble();
    upstream.script((_, response) =>
      sendFrames(response, [deltaFrame({ content: 'hi' }), finishFrame('stop'), usageFrame(40, 10)]),
    );
    deployment = await openDeployment({ kafka: kafka().brokers, redis: 'redis://127.0.0.1:1' });
    await deployment.command('topics', 'create');
    folders = await Promise.all([1, 2].map((n) => mkdtemp(join(tmpdir(), `clawloop-rl-${n}-`))));
    [a, b] = await Promise.all([serving(folders[0]!), serving(folders[1]!)]);
  });
  afterAll(async () => {
    await deployment?.dispose();
    await upstream?.close();
    for (const folder of folders ?? []) await rm(folder, { recursive: true, force: true });
  });

  test('each replica knows at once what the other recorded', async () => {
    for (let round = 0; round < 5; round++)
      await unlessLate(async () => {
        const { api_key } = await one.start('demo');
        const first = await two.chat(api_key);
        expect((await one.post('/rl/set_reward', api_key, { reward: 1 })).body.interaction_id).toBe(first);
        const after = await two.start('demo', api_key);
        const last = await one.chat(api_key);
        const ended = await two.post('/rl/end_session', api_key);
        expect(ended.body).toMatchObject({ session_id: after.session_id, interaction_count: 1 });
        expect((await one.post('/rl/set_reward', api_key, { reward: 1 })).status).toBe(410);
        const [listed] = (await one.get('/rl/sessions')).body.data;
        expect(listed).toMatchObject({ rewards: [{ interaction_id: last, reward: 0 }] });
      });
  });

  test('a session continues at another replica, and at a new one, when its first replica is killed', async () => {
    await unlessLate(async () => {
      if (!a.isAlive()) a = await serving(folders[0]!);
      const { session_id, api_key } = await one.start('demo');
      const first = await one.chat(api_key);
      await a.end('SIGKILL');
      expect((await two.post('/rl/set_reward', api_key, { reward: 1 })).body.interaction_id).toBe(first);
      a = await serving(folders[0]!);
      const last = await one.chat(api_key);
      expect((await two.post('/rl/set_reward', api_key, { reward: -1 })).body.interaction_id).toBe(last);
      expect((await one.post('/rl/end_session', api_key)).body).toEqual({
        message: 'success',
        session_id,
        interaction_count: 2,
      });
    });
  });
});
