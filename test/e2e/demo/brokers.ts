import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { QueueEvents } from 'bullmq';
import { kafkaClassPath } from '../../../infra/kafka/jars.ts';
import { startKafka } from '../../../infra/kafka/start-kafka.ts';
import { startRedis } from '../../../infra/redis/start-redis.ts';
import { openBullQueue } from '../../../shared/queue/bullmq/open-bull-queue.ts';

export type Brokers = {
  /** The folds in the output of `kafka-consumer-groups`, and the votes that BullMQ counted. */
  readonly report: () => Promise<string>;
  readonly stop: () => Promise<void>;
};

const PREFIX = 'clawloop';

/**
 * Starts a Kafka and a Redis, and sets the variables that make every process of ClawLoop use them. They are set in the
 * environment of this process, which its children inherit as in a deployment.
 */
export async function startBrokers(): Promise<Brokers> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-demo-kafka-'));
  const kafka = await startKafka({ folder });
  const redis = await startRedis();
  const broker = kafka.brokers.join(',');
  const settings = {
    CLAWLOOP_LOG: 'kafka',
    CLAWLOOP_KAFKA_BROKERS: broker,
    CLAWLOOP_QUEUE: 'redis',
    CLAWLOOP_REDIS_URL: redis.url,
  };
  Object.assign(process.env, settings);
  const votes = await countJobs(redis.url, 'votes');
  return {
    report: async () => `${await describeGroups(broker)}\n${await votes.report()}`,
    stop: async () => {
      for (const name of Object.keys(settings)) delete process.env[name];
      await votes.close();
      await redis.close();
      await kafka.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Its output for every group: position, end and lag of each partition with records. */
async function describeGroups(broker: string): Promise<string> {
  const child = spawn(
    'java',
    [
      '-Xmx128m',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      kafkaClassPath(),
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=error',
      'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
      '--bootstrap-server',
      broker,
      '--describe',
      '--all-groups',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`kafka-consumer-groups ended with ${code}: ${text}`);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  // without the ids of the members at the end of a line, which are long and random
  const columns = lines.map((line) => line.trim().split(/\s+/).slice(0, 6));
  return columns
    .filter(([group, , , , end], index) => index === 0 || (group !== 'GROUP' && end !== '0'))
    .map(([group, topic, ...figures]) =>
      [group!.padEnd(20), topic!.padEnd(24), ...figures.map((figure) => figure.padStart(14))].join(' '),
    )
    .join('\n');
}

/** Finished jobs are not kept, so they are counted from the events of BullMQ. */
async function countJobs(url: string, name: string) {
  const connection = { url, maxRetriesPerRequest: null };
  const events = new QueueEvents(name, { connection, prefix: PREFIX });
  const counts = { added: 0, completed: 0, failed: 0, stalled: 0 };
  for (const kind of Object.keys(counts) as (keyof typeof counts)[])
    events.on(kind, () => (counts[kind] += 1));
  await events.waitUntilReady();
  const settings = { attempts: 1, backoffMs: 1, maxBackoffMs: 1, jitter: 0, timeLimitMs: 1_000 };
  const queue = await openBullQueue(name, settings, { url, prefix: PREFIX });
  const words = (figures: object) => Object.entries(figures).map(([what, count]) => `${what} ${count}`);
  return {
    report: async () =>
      `BullMQ, ${name}: ${words(counts).join(', ')}; now ${words(await queue.counts()).join(', ')}`,
    close: async () => {
      await events.close();
      await queue.close();
    },
  };
}
