import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { until } from '../harness/clawloop.ts';
import { ask, converse } from './chat.ts';
import { type Deployment, openDeployment, type Replica } from './deployment.ts';

const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];
const timing = ['--session-timeout-ms', '4000'];

describeWithKafka('several adapters on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    let deployment: Deployment;
    let servings: [Replica, Replica];
    let trainers: [Replica, Replica];

    beforeAll(async () => {
      deployment = await openDeployment({ kafka: kafka().brokers, redis: redis().url });
      await deployment.command('topics', 'create');
      const both = [...timing, '--adapters', 'alice,bob'];
      const { start, ready } = deployment;
      servings = [await start('serving', both), await start('serving', both)];
      const others = [
        await start('collector', [...both, '--batch-size', '2', '--sweep-ms', '1000']),
        await start('judge', both),
      ];
      const trainer = await ready(await start('trainer', [...timing, '--adapters', 'alice']));
      trainers = [trainer, await start('trainer', [...timing, '--adapters', 'bob'])];
      for (const one of [...servings, ...others]) await ready(one);
    });
    afterAll(() => deployment?.dispose());

    const versionOf = async (adapter: string) =>
      (await ask(servings[0], [{ role: 'user', content: 'Hello.' }], options(adapter))).version;
    const options = (adapter: string) => ({ model: `clawloop:${adapter}` });
    /** One person chats through both servings in turn until this version is served. */
    const teach = async (adapter: string, least: number) => {
      let index = 0;
      const isThere = async () => {
        const lines = [`How do I pack for trip ${index} of ${least}?`, reactions[index % reactions.length]!];
        index++;
        await converse(servings, lines, options(adapter));
        return (await versionOf(adapter)) >= least;
      };
      await until(`${adapter} is at version ${least}`, isThere, 180_000);
    };

    test('of two trainers with their own lists, one trains all adapters; when it is killed, the other takes over', async () => {
      await Promise.all([teach('alice', 1), teach('bob', 1)]);
      expect(await trainers[1].isReady()).toBe(false); // it is on standby
      await trainers[0].end('SIGKILL');
      await until('the other one took over', trainers[1].isReady, 120_000);
      const [ofAlice, ofBob] = [await versionOf('alice'), await versionOf('bob')];
      await Promise.all([teach('alice', ofAlice + 1), teach('bob', ofBob + 1)]);
      expect(await deployment.command('audit')).toMatch(/balances/);
      const list = await deployment.command('policy', 'list');
      expect(list).toMatch(/^alice\n.*v2 +v1 +\d+ +promoted.*\n\nbob\n.*v2 +v1 +\d+ +promoted/s);
    });
  });
});
