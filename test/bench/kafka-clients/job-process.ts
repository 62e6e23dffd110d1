// node job-process.ts CLIENT FOLDER BROKER JOB TOPIC: one job of one client, in a process of its own. Prints figures as JSON.
import { openConfluent } from './confluent-client.ts';
import { openKafkaJs } from './kafkajs-client.ts';
import { openPlatformatic } from './platformatic-client.ts';
import { type OpenTrialClient, partitions, type TrialClient, type TrialRecord } from './trial-client.ts';

export type Figures = Readonly<Record<string, number>>;

const clients: Readonly<Record<string, OpenTrialClient>> = {
  kafkajs: openKafkaJs,
  platformatic: openPlatformatic,
  confluent: openConfluent,
};

/** 1 KB of text that compresses about as well as an event. */
export function recordsOf(count: number, seed: number): readonly TrialRecord[] {
  let state = seed + 1;
  const word = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8).toString(36);
  };
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 120 }, word).join(' ');
    const body = JSON.stringify({ type: 'turn.completed', subject: `s-${i % 64}`, text: words });
    return {
      key: `s-${i % 64}`,
      value: Buffer.from(body.slice(0, 1_024).padEnd(1_024)),
      partition: i % partitions,
    };
  });
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** ms of each call, after some calls that do not count. */
async function timed(
  count: number,
  warmUp: number,
  call: (i: number) => Promise<void>,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let i = -warmUp; i < count; i += 1) {
    const start = performance.now();
    await call(i + warmUp);
    if (i >= 0) times.push(performance.now() - start);
  }
  return times;
}

const perSecond = (count: number, times: readonly number[]): number =>
  (1_000 * count * times.length) / times.reduce((sum, ms) => sum + ms, 0);

async function append(client: TrialClient, topic: string): Promise<Figures> {
  const sender = await client.openSender();
  const one = recordsOf(1, 1);
  const hundred = recordsOf(100, 2);
  const ones = await timed(300, 50, () => sender.append(topic, one));
  const hundreds = await timed(150, 20, () => sender.append(topic, hundred));
  await sender.close();
  return {
    'append 1, ms': median(ones),
    'append 1, records/s': perSecond(1, ones),
    'append 100, ms': median(hundreds),
    'append 100, records/s': perSecond(100, hundreds),
  };
}

async function transact(client: TrialClient, topic: string): Promise<Figures> {
  const transactions = await client.openTransactions(`trial-${process.pid}-${Date.now()}`);
  const hundred = recordsOf(100, 3);
  const times = await timed(100, 10, (i) => transactions.commit(topic, hundred, i + 1));
  await transactions.close();
  return { 'transaction, ms': median(times), 'transactions/s': perSecond(1, times) };
}

const toRead = 100_000;

async function read(client: TrialClient, topic: string): Promise<Figures> {
  const processor = process.cpuUsage();
  const start = performance.now();
  let count = 0;
  const all = Promise.withResolvers<void>();
  const follower = await client.follow(
    topic,
    Array.from({ length: partitions }, () => 0),
    (values) => {
      count += values.length;
      if (count >= toRead) all.resolve();
    },
  );
  await all.promise;
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(processor);
  await follower.close();
  return {
    'read, records/s': toRead / seconds,
    'read, processor s': (user + system) / 1e6,
    'read, peak MB': process.resourceUsage().maxRSS / 1_024,
  };
}

/** From the call of append until a follower in the same process has the record. */
async function follow(client: TrialClient, topic: string): Promise<Figures> {
  const sender = await client.openSender();
  const one = recordsOf(1, 4);
  await sender.append(topic, one);
  let arrived = Promise.withResolvers<void>();
  const from = Array.from({ length: partitions }, () => 0);
  const follower = await client.follow(topic, from, () => arrived.resolve());
  await arrived.promise;
  const times = await timed(150, 20, async () => {
    arrived = Promise.withResolvers<void>();
    await sender.append(topic, one);
    await arrived.promise;
  });
  await follower.close();
  await sender.close();
  return { 'append to follower, ms': median(times) };
}

const jobs: Readonly<Record<string, (client: TrialClient, topic: string) => Promise<Figures>>> = {
  append,
  transact,
  read,
  follow,
};

async function main(): Promise<void> {
  const [name, folder, broker, job, topic] = process.argv.slice(2) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const client = await clients[name]!([broker], folder);
  const figures = await jobs[job]!(client, topic);
  console.log(JSON.stringify(figures));
}

if (import.meta.main) await main();
