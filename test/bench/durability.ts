import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Producer } from 'kafkajs';
import { Pool } from 'undici';
import { whyNoKafka } from '../../infra/kafka/jars.ts';
import { startKafka } from '../../infra/kafka/start-kafka.ts';
import { connectTo } from '../../shared/log/kafka/connection.ts';
import { CompressionTypes } from '../../shared/log/kafka/kafkajs.ts';
import type { Kind } from './durability-peer.ts';
import { promptIds } from './prompt-ids.ts';

/** ms */
export type DurabilityFigures = { readonly what: string; readonly p50: number; readonly p99: number };

type Subject = {
  readonly what: string;
  /** ms that one took */
  readonly once: () => Promise<number>;
  readonly close: () => Promise<unknown>;
};

const AT_ONCE = 16;
const workloads = [
  { what: 'a chat', promptCharacters: 1_500, rounds: 250, atOnce: 1 },
  { what: `a chat, ${AT_ONCE} at once`, promptCharacters: 1_500, rounds: 20, atOnce: AT_ONCE },
  { what: "an agent's prompt of 40,000 tokens", promptCharacters: 160_000, rounds: 60, atOnce: 1 },
] as const;
const bareFileName = 'bare: write and fdatasync of a file';
const WARM_UP = 20;
const PASSES = 3;

/**
 * The delay that durability adds to the end of an answer: ms from the engine's last token until the client has the
 * chunk with `finish_reason`, by the destination of serving's facts. `nowhere` is the peer: the same server with a log
 * that does nothing. Two lower bounds are measured as well: the fact's bytes appended to a file on the same disk and
 * flushed (write, fdatasync), and sent by kafkajs alone. All alternate in three passes. Because the machine is shared,
 * only the pass with the least disturbed peers counts.
 */
export async function benchDurability(): Promise<readonly DurabilityFigures[]> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-bench-durability-'));
  const missing = whyNoKafka();
  if (missing !== null) console.log(`no figures on Kafka: ${missing}`);
  const kafka = missing === null ? await startKafka({ folder: join(folder, 'kafka') }) : undefined;
  const all: DurabilityFigures[] = [];
  try {
    for (const [index, workload] of workloads.entries()) {
      const body = chatBody(workload.promptCharacters);
      const data = (kind: Kind) => join(folder, `${index}-${kind.replace(' ', '-')}`);
      const kinds: readonly Kind[] = [
        'nowhere',
        'embedded log',
        'outbox',
        ...(kafka ? (['Kafka'] as const) : []),
      ];
      const subjects = [
        ...(await Promise.all(kinds.map((kind) => serving(kind, data(kind), kafka?.brokers ?? [], body)))),
        await bareFile(join(folder, `bare-${index}`), workload.promptCharacters),
        ...(kafka ? [await bareKafka(kafka.brokers, workload.promptCharacters)] : []),
      ];
      const passes: DurabilityFigures[][] = [];
      for (let pass = 0; pass < PASSES; pass++)
        passes.push(await measure(subjects, workload.rounds, workload.atOnce));
      const rows = passes.sort((a, b) => disturbance(a) - disturbance(b))[0]!;
      for (const { close } of subjects) await close();
      print(workload.what, rows);
      all.push(...rows.map((row) => ({ ...row, what: `${workload.what}: ${row.what}` })));
    }
    return all;
  } finally {
    await kafka?.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(
  subjects: readonly Subject[],
  rounds: number,
  atOnce: number,
): Promise<DurabilityFigures[]> {
  const taken = subjects.map((): number[] => []);
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const [index, subject] of subjects.entries()) {
      const times = await Promise.all(Array.from({ length: atOnce }, subject.once));
      if (round >= 0) taken[index]!.push(...times);
    }
  }
  return subjects.map(({ what }, index) => {
    const sorted = taken[index]!.sort((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))]!;
    return { what, p50: quantile(0.5), p99: quantile(0.99) };
  });
}

/** The disturbance of a pass by other processes, ms: from the server that writes nothing and from the bare file. */
const disturbance = (rows: readonly DurabilityFigures[]): number =>
  rows
    .filter(({ what }) => what === 'nowhere' || what === bareFileName)
    .reduce((sum, { p99 }) => sum + p99, 0);

function print(title: string, rows: readonly DurabilityFigures[]): void {
  const base = rows[0]!;
  console.log(`\n${title}: ms from the engine's last token to the client having finish_reason`);
  console.table(
    rows.map(({ what, p50, p99 }) => ({
      'facts go to': what,
      p50: p50.toFixed(2),
      p99: p99.toFixed(2),
      'added p50': what.startsWith('bare') ? '' : (p50 - base.p50).toFixed(2),
      'added p99': what.startsWith('bare') ? '' : (p99 - base.p99).toFixed(2),
    })),
  );
}

const chatBody = (promptCharacters: number) =>
  JSON.stringify({
    model: 'clawloop',
    stream: true,
    messages: [
      { role: 'system', content: text(promptCharacters) },
      { role: 'user', content: 'What should I cook tonight?' },
    ],
  });

const text = (characters: number) =>
  'You are a helpful assistant; tools and rules follow. '.repeat(characters).slice(0, characters);

async function serving(
  kind: Kind,
  folder: string,
  brokers: readonly string[],
  body: string,
): Promise<Subject> {
  const child = fork(
    fileURLToPath(new URL('./durability-peer.ts', import.meta.url)),
    [kind, folder, brokers.join(',')],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    },
  );
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: AT_ONCE });
  return {
    what: kind,
    once: () => endOfAnswer(pool, body),
    close: async () => {
      await pool.close();
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** ms from the last token, which contains its time, to the chunk with `finish_reason` and `recorded`. */
async function endOfAnswer(pool: Pool, body: string): Promise<number> {
  const response = await pool.request({
    method: 'POST',
    path: '/v1/chat/completions',
    headers: { 'content-type': 'application/json' },
    body,
  });
  let heard = '';
  let ended: bigint | undefined;
  for await (const part of response.body) {
    heard += String(part);
    if (ended === undefined && heard.includes('"finish_reason":"stop"')) ended = process.hrtime.bigint();
  }
  const lastToken = /@(\d+)@/.exec(heard)?.[1];
  if (ended === undefined || lastToken === undefined || !heard.includes('"recorded":true'))
    throw new Error(`no whole answer: ${response.statusCode} ${heard}`);
  return Number(ended - BigInt(lastToken)) / 1e6;
}

/** About as large as the fact of such a prompt, and as easy to compress. */
const factOf = (promptCharacters: number) =>
  JSON.stringify({
    text: text(promptCharacters),
    promptIds: promptIds(promptCharacters),
    logProbs: promptIds(256).map((id) => -Math.sqrt(id)),
  });

async function bareFile(path: string, promptCharacters: number): Promise<Subject> {
  const file: FileHandle = await open(path, 'a');
  const bytes = Buffer.from(factOf(promptCharacters));
  return {
    what: bareFileName,
    once: () =>
      timed(async () => {
        await file.write(bytes);
        await file.datasync();
      }),
    close: () => file.close(),
  };
}

async function bareKafka(brokers: readonly string[], promptCharacters: number): Promise<Subject> {
  const { kafka } = connectTo({ brokers });
  const topic = `bare-${promptCharacters}`;
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 3 }] });
  await admin.disconnect();
  const producer: Producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const messages = [{ key: 'lane', value: factOf(promptCharacters) }];
  return {
    what: 'bare: one kafkajs producer',
    once: () => timed(() => producer.send({ topic, acks: -1, compression: CompressionTypes.ZSTD, messages })),
    close: () => producer.disconnect(),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}
