import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Overview } from '../../../services/console/api/shapes.ts';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { openKafkaLog } from '../../../shared/log/kafka/open-kafka-log.ts';
import { withRedis } from '../../contract/bullmq-redis.ts';
import { readTopic } from '../../contract/event-log-fixtures.ts';
import { describeWithKafka } from '../../contract/kafka-node.ts';
import { type SecuredKafka, startSecuredKafka } from '../../contract/secured-kafka.ts';
import { until } from '../harness/clawloop.ts';
import { upstreamDouble } from '../serving-upstream-double.ts';
import { scrape } from './scrape.ts';
import {
  type ServiceName,
  type ServiceProcess,
  serviceNames,
  startService,
  untilReady,
} from './service-process.ts';
import { speak, startStory } from './story.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clawloop-brokers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let kafka: SecuredKafka;
describeWithKafka(
  'a Kafka that refuses the connection',
  () => {
    const flags = (more: Readonly<Record<string, string>> = {}) =>
      Object.entries({
        '--data-folder': join(folder, 'refused'),
        '--log': 'kafka',
        '--kafka-brokers': kafka.secured,
        '--kafka-ssl': 'true',
        '--kafka-ca-file': kafka.caFile,
        '--kafka-sasl-mechanism': 'plain',
        '--kafka-sasl-username': 'clawloop',
        '--kafka-sasl-password': 'a secret',
        ...more,
      })
        .filter(([, value]) => value !== '')
        .flat();

    test.each([
      ['a wrong password', { '--kafka-sasl-password': 'another' }, /[Aa]uthentication failed/],
      [
        'a mechanism that it does not speak',
        { '--kafka-sasl-mechanism': 'scram-sha-256' },
        /SCRAM|mechanism/,
      ],
      ['an untrusted certificate', { '--kafka-ca-file': '' }, /certificate/],
    ])('%s: every service ends with 2 and the reason', async (_, wrong, reason) => {
      const ends = await Promise.all(serviceNames.map((name) => startService(name, flags(wrong)).ended));
      for (const [index, { code, output, stderr }] of ends.entries()) {
        expect(code, output + stderr).toBe(2);
        expect(stderr).toContain(
          `clawloop ${serviceNames[index]}: Kafka at ${kafka.secured} refused the connection: `,
        );
        expect(stderr).toMatch(reason);
      }
    });

    test('with the right settings a service is ready', async () => {
      const collector = startService('collector', flags());
      await untilReady(collector);
      expect((await collector.stop()).code).toBe(0);
    });

    test.each(['turns', 'dead-letters'] as const)('%s with another number of partitions', async (topic) => {
      const prefix = `odd-${topic}.`;
      const connection = connectTo({ brokers: kafka.brokers, prefix });
      const admin = connection.kafka.admin();
      const topics = [{ topic: connection.topicName(topic), numPartitions: 2 }];
      // kafkajs' own wait for leaders fails where the node does not know the topic yet
      await admin.createTopics({ topics, waitForLeaders: false });
      await admin.disconnect();
      const { code, stderr } = await startService('collector', [
        '--data-folder',
        join(folder, 'odd'),
        '--log',
        'kafka',
        '--kafka-brokers',
        kafka.brokers.join(','),
        '--kafka-prefix',
        prefix,
      ]).ended;
      expect(code).toBe(2);
      expect(stderr).toContain(
        `${prefix}${topic} was created with 2 partitions, which cannot change; 3 were configured`,
      );
    });
  },
  async (at) => {
    kafka = await startSecuredKafka(at);
    return kafka;
  },
);

/** ms from SIGTERM to the end of the process */
const LIMIT_MS = 10_000;

describeWithKafka('a service that stops while a broker is down', (node) => {
  withRedis('and Redis', (redis) => {
    const start = (name: ServiceName, prefix: string) =>
      startService(name, [
        '--data-folder',
        join(folder, prefix),
        '--log',
        'kafka',
        '--kafka-prefix',
        `${prefix}.`,
        '--kafka-brokers',
        node().brokers.join(','),
        ...(queued.has(name) ? ['--queue', 'redis', '--redis-url', redis().url] : []),
        ...(queued.has(name) ? ['--redis-prefix', prefix] : []),
      ]);
    const queued: ReadonlySet<ServiceName> = new Set(['judge', 'trainer']);
    const allReady = async (prefix: string) => {
      const services = serviceNames.map((name) => start(name, prefix));
      await Promise.all(services.map(untilReady));
      return services;
    };
    const untilAllSay = (services: readonly ServiceProcess[], words: RegExp) =>
      until(`each says ${words}`, () => services.every((service) => words.test(service.output())));
    const allEnd = async (services: readonly ServiceProcess[], what: string) => {
      const ends = await Promise.all(services.map((service) => service.stop()));
      const took = ends.map(
        ({ milliseconds }, index) => `${serviceNames[index]} ${Math.round(milliseconds)} ms`,
      );
      console.log(`${what}: ${took.join(', ')}; codes ${ends.map(({ code }) => code).join(' ')}`);
      for (const { code, milliseconds, output } of ends) {
        expect(milliseconds, output).toBeLessThan(LIMIT_MS);
        expect(code, output).toBe(0);
      }
    };

    test('with all brokers every service ends at once', async () => {
      await allEnd(await allReady('there'), 'all there');
    });

    test('while Kafka is down, services that need it report that they are not ready, and chat continues', async () => {
      const services = await allReady('comes-back');
      const readiness = () =>
        Promise.all(services.map(async (service) => (await fetch(`${await service.url()}/readyz`)).status));
      await node().kill();
      await until('all but serving are not ready', async () => {
        const [serving, ...others] = await readiness();
        return serving === 200 && others.every((status) => status === 503);
      });
      const waiting = new RegExp(`waiting for Kafka at ${node().brokers[0]}`);
      // what a service prints may arrive after what it answers
      await untilAllSay(services.slice(1), waiting);
      const page = await services[serviceNames.indexOf('console')]!.url();
      const logAway = async () => {
        const overview = (await (await fetch(`${page}/api/overview`)).json()) as Overview;
        return overview.logAway;
      };
      const place = expect.stringContaining(`Kafka at ${node().brokers[0]}`);
      expect(await logAway()).toEqual({ place, since: expect.any(String) });
      expect((await fetch(page)).status).toBe(200);
      await node().restart();
      await until('all are ready', async () => (await readiness()).every((status) => status === 200));
      await untilAllSay(services.slice(1), /Kafka at .* is back/);
      expect(await logAway()).toBeNull();
      await allEnd(services, 'came back');
    });

    test('if Kafka hangs, an endless answer is cut short in time, and recorded after the next start', async () => {
      const upstream = await upstreamDouble();
      speak(upstream, Number.POSITIVE_INFINITY);
      const data = join(folder, 'endless');
      const flags = [
        '--data-folder',
        data,
        '--engine',
        'upstream',
        '--upstream-url',
        upstream.url,
        '--log',
        'kafka',
        '--kafka-brokers',
        node().brokers.join(','),
        '--kafka-prefix',
        'endless.',
      ];
      const serving = startService('serving', flags);
      const { ended } = await startStory(await untilReady(serving));
      node().signal('SIGSTOP');
      const { milliseconds, output } = await serving.stop();
      node().signal('SIGCONT');
      console.log(`endless answer, Kafka hangs: ${Math.round(milliseconds)} ms`);
      expect(milliseconds, output).toBeLessThan(LIMIT_MS);
      const { text, reason } = await ended;
      expect(reason).toBe('length');
      speak(upstream, 1); // an engine with an endless answer does not answer health checks
      const next = startService('serving', flags);
      const url = await untilReady(next);
      await until('the outbox is empty', async () => {
        const depth = (await scrape(url)).value('clawloop_serving_outbox_depth');
        return depth === 0;
      });
      await next.stop();
      await upstream.close();
      const log = await openKafkaLog({ brokers: node().brokers, prefix: 'endless.' });
      const answers = (await readTopic(log, 'conversations')).map(({ event }) => event);
      await log.close();
      expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
      expect(answers[0]).toMatchObject({ data: { finishReason: 'aborted', answer: { content: text } } });
    });

    test.each([
      ['Redis hangs', () => redis().freeze(), async () => redis().thaw()],
      ['Redis is gone', () => redis().kill(), () => redis().start()],
      ['Kafka hangs', () => node().signal('SIGSTOP'), async () => node().signal('SIGCONT')],
      ['Kafka is gone', () => node().kill(), () => node().restart()],
    ] as const)('%s: every service ends within ten seconds', async (what, hurt, heal) => {
      const services = await allReady(what.toLowerCase().replaceAll(' ', '-'));
      await hurt();
      await delay(1_500); // so that work in flight is affected
      try {
        await allEnd(services, what);
      } finally {
        await heal();
      }
    });
  });
});
