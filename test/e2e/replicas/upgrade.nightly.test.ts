import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { clawloop, until } from '../harness/clawloop.ts';
import { type Answer, converse } from './chat.ts';
import { type Deployment, openDeployment, type Replica, type ServiceName } from './deployment.ts';
import { makeNextRelease } from './next-release.ts';

const timing = ['--session-timeout-ms', '4000'];
const flagsOf: Readonly<Record<ServiceName, readonly string[]>> = {
  serving: timing,
  collector: [...timing, '--sweep-ms', '1000', '--batch-size', '2'],
  judge: timing,
  trainer: timing,
};
const reactions = ['Perfect, thanks!', 'No lists, please.', 'Great, thank you!', 'Please skip the greeting.'];

describeWithKafka('a rolling upgrade on Kafka', (kafka) => {
  withRedis('and Redis', (redis) => {
    let deployment: Deployment;
    let next: Awaited<ReturnType<typeof makeNextRelease>>;
    const running = new Map<ServiceName, Replica>();
    const answers: Answer[] = [];
    let conversations = 0;

    const start = async (service: ServiceName, release?: string): Promise<Replica> => {
      const place = release === undefined ? {} : { release };
      return deployment.start(service, flagsOf[service], place);
    };
    /** One conversation, of which each message goes to the next of these replicas. */
    const chat = async (through: readonly Replica[]): Promise<void> => {
      conversations += 1;
      const lines = [
        `How do I pack for trip ${conversations}?`,
        reactions[conversations % reactions.length]!,
      ];
      answers.push(...(await converse(through, lines, { session: `trip-${conversations}` })));
    };
    const saysStopped = async ({ url }: Replica): Promise<boolean> => {
      const response = await fetch(`${url}/readyz`);
      return response.status === 503 && (await response.text()).includes('has stopped');
    };
    const servedVersion = () => Math.max(...answers.slice(-2).map(({ version }) => version));
    /** The output of a command of the newer program. */
    const inNext = async (...argv: readonly string[]) => {
      const { code, stdout, stderr } = await clawloop(
        argv,
        {},
        undefined,
        join(next.root, 'services/cli/main.ts'),
      );
      expect(stderr + stdout, argv.join(' ')).toSatisfy(() => code === 0);
      return stdout;
    };

    beforeAll(async () => {
      next = await makeNextRelease();
      deployment = await openDeployment({ kafka: kafka().brokers, redis: redis().url });
      await deployment.command('topics', 'create');
      for (const service of ['serving', 'collector', 'judge', 'trainer'] as const)
        running.set(service, await start(service));
      for (const replica of running.values()) await deployment.ready(replica);
    });
    afterAll(async () => {
      await deployment?.dispose();
      await next?.remove();
    });

    test('before it, the system trains', async () => {
      await until('version 1 is served', async () => {
        await chat([running.get('serving')!]);
        return servedVersion() >= 1;
      });
    });

    test('the new serving answers beside the old; the old collector stops at its records and says so', async () => {
      const [old, newer] = [
        running.get('serving')!,
        await deployment.ready(await start('serving', next.root)),
      ];
      await until('the old collector has stopped', async () => {
        await chat([old, newer]);
        return saysStopped(running.get('collector')!);
      });
      expect(running.get('collector')!.isAlive()).toBe(true);
      await old.end('SIGTERM');
      running.set('serving', newer);
    });

    test.each(['collector', 'judge', 'trainer'] as const)(
      'the %s is replaced beside the old one',
      async (service) => {
        const newer = await start(service, next.root);
        await chat([running.get('serving')!]);
        await running.get(service)!.end('SIGTERM');
        await deployment.ready(newer);
        running.set(service, newer);
        await chat([running.get('serving')!]);
      },
    );

    test('an old trainer leaves the migrated rows alone and says so; the new one goes on', async () => {
      await running.get('trainer')!.end('SIGTERM');
      const old = await start('trainer');
      await until('the old trainer refuses the rows', async () => {
        const response = await fetch(`${old.url}/readyz`).catch(() => undefined);
        return (await response?.text())?.includes('have version 2') ?? false;
      });
      expect(old.isAlive()).toBe(true);
      expect(await old.end('SIGTERM')).toBe(0);
      running.set('trainer', await deployment.ready(await start('trainer', next.root)));
    });

    test('after it, nothing is lost, nothing is doubled, and the system goes on learning', async () => {
      const before = servedVersion();
      await until('a later version is served', async () => {
        await chat([running.get('serving')!]);
        return servedVersion() > before;
      });
      for (const replica of running.values()) expect(await saysStopped(replica), replica.service).toBe(false);
      expect(answers.every(({ recorded }) => recorded)).toBe(true);
      await until('the books balance', async () => /balances/.test(await inNext('audit')));
      const { code, stderr } = await clawloop(['audit']);
      expect(code).not.toBe(0);
      expect(stderr).toMatch(/newer|update/i);
    });
  });
});
