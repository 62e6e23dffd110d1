// node infra/runtime/run.js test/bench/kafka-clients/main.ts --platformatic FOLDER --confluent FOLDER [--rounds 5]
//
// Other clients of Kafka next to kafkajs, on a real Kafka of this machine. FOLDER: where `npm install` put the
// package; each candidate may be left out. Every job runs in a process of its own; the order of the clients
// changes from round to round.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { whyNoKafka } from '../../../infra/kafka/jars.ts';
import { startKafka } from '../../../infra/kafka/start-kafka.ts';
import { connectTo } from '../../../shared/log/kafka/connection.ts';
import { type Figures, median, recordsOf } from './job-process.ts';
import { openKafkaJs } from './kafkajs-client.ts';
import { partitions } from './trial-client.ts';

const run = promisify(execFile);
const jobs = ['append', 'transact', 'read', 'follow'] as const;
const filled = 'filled';

async function createTopic(brokers: readonly string[], topic: string): Promise<void> {
  const admin = connectTo({ brokers }).kafka.admin();
  await admin.connect();
  const configEntries = [{ name: 'max.message.bytes', value: '8000000' }];
  await admin.createTopics({
    waitForLeaders: true,
    topics: [{ topic, numPartitions: partitions, configEntries }],
  });
  await admin.disconnect();
}

/** The records that every client reads: 100,000 of 1 KB. */
async function fill(brokers: readonly string[]): Promise<void> {
  await createTopic(brokers, filled);
  const sender = await (await openKafkaJs(brokers, '')).openSender();
  for (let i = 0; i < 100; i += 1) await sender.append(filled, recordsOf(1_000, i));
  await sender.close();
}

async function oneJob(
  { name, folder }: Client,
  broker: string,
  job: (typeof jobs)[number],
  topic: string,
): Promise<Figures> {
  const script = fileURLToPath(new URL('job-process.ts', import.meta.url));
  const { stdout } = await run(process.execPath, [script, name, folder, broker, job, topic], {
    timeout: 120_000,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Figures;
}

type Client = { readonly name: string; readonly folder: string };

const digits = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);

function print(clients: readonly Client[], all: ReadonlyMap<string, readonly Figures[]>): void {
  const names = Object.keys(all.get(clients[0]!.name)![0]!);
  console.log(`| | ${clients.map(({ name }) => name).join(' | ')} |`);
  console.log(`|---|${clients.map(() => '---:').join('|')}|`);
  for (const name of names) {
    const cells = clients.map((client) => {
      const values = all.get(client.name)!.map((figures) => figures[name]!);
      return `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;
    });
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      platformatic: { type: 'string' },
      confluent: { type: 'string' },
      rounds: { type: 'string', default: '5' },
    },
  });
  const missing = whyNoKafka();
  if (missing !== null) throw new Error(missing);
  const clients: readonly Client[] = [
    { name: 'kafkajs', folder: '.' },
    ...(['platformatic', 'confluent'] as const).flatMap((name) =>
      values[name] === undefined ? [] : [{ name, folder: values[name] }],
    ),
  ];
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-kafka-clients-'));
  const node = await startKafka({ folder });
  const all = new Map<string, Figures[]>(clients.map(({ name }) => [name, []]));
  try {
    await fill(node.brokers);
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const order = clients.map((_, i) => clients[(i + round) % clients.length]!);
      const figures = new Map<string, Figures>();
      for (const job of jobs)
        for (const client of round % 2 === 0 ? order : order.toReversed()) {
          const topic = job === 'read' ? filled : `${job}-${client.name}-${round}`;
          if (job !== 'read') await createTopic(node.brokers, topic);
          const found = await oneJob(client, node.brokers[0]!, job, topic);
          figures.set(client.name, { ...figures.get(client.name), ...found });
        }
      for (const [name, found] of figures) all.get(name)!.push(found);
    }
    print(clients, all);
  } finally {
    await node.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
