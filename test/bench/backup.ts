import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whyNoKafka } from '../../infra/kafka/jars.ts';
import { startKafka } from '../../infra/kafka/start-kafka.ts';
import { whyNoS3 } from '../../infra/s3/jar.ts';
import { type S3Server, startS3 } from '../../infra/s3/start-s3.ts';
import { openKafkaLog } from '../../shared/log/kafka/open-kafka-log.ts';
import { measureCommand, type Taken } from './start/measure.ts';
import { appendEvents, fillLog, numbersOf } from './start/start.ts';

const BUCKET = 'backups';

/**
 * Time and memory of backups and restores of embedded logs of several sizes, to a folder and to a bucket of a server on
 * this machine, and of logs on a Kafka on this machine. A second backup finds everything unchanged.
 *
 * CLAWLOOP_BACKUP_EVENTS: sizes, default 10000,100000. CLAWLOOP_BACKUP_LOGS: default sqlite,kafka.
 */
export async function benchBackup(): Promise<void> {
  const sizes = numbersOf(process.env.CLAWLOOP_BACKUP_EVENTS ?? '10000,100000');
  const logs = (process.env.CLAWLOOP_BACKUP_LOGS ?? 'sqlite,kafka').split(',');
  if (logs.includes('sqlite')) await benchSqlite(sizes);
  if (logs.includes('kafka')) await benchKafka(sizes);
}

async function benchSqlite(sizes: readonly number[]): Promise<void> {
  const missing = whyNoS3();
  if (missing !== null) console.log(`without a bucket: ${missing}`);
  const server = missing === null ? await startS3() : undefined;
  const root = await mkdtemp(join(tmpdir(), 'clawloop-backups-'));
  try {
    if (server !== undefined) await mkdir(join(server.buckets, BUCKET));
    for (const events of sizes) await benchSize(join(root, String(events)), events, server);
  } finally {
    await rm(root, { recursive: true, force: true });
    await server?.close();
  }
}

async function benchSize(place: string, events: number, server: S3Server | undefined): Promise<void> {
  const data = join(place, 'data');
  await fillLog(data, events, 40);
  const { size } = await stat(join(data, 'log', 'log.sqlite'));
  const targets: readonly (readonly [name: string, target: string, flags: readonly string[]])[] = [
    ['a folder', join(place, 'backup'), []],
    ...(server === undefined ? [] : [['a bucket', `s3://${BUCKET}/${events}`, flagsOf(server)] as const]),
  ];
  for (const [name, target, flags] of targets) {
    const to = { target, data, restored: join(place, 'restored'), flags, restoreFlags: flags };
    await benchCommands(to, [name, events, Math.round(size / 1e6)]);
  }
}

type Commands = {
  readonly target: string;
  readonly data: string;
  readonly restored: string;
  readonly flags: readonly string[];
  readonly restoreFlags: readonly string[];
};

async function benchCommands(
  { target, data, restored, flags, restoreFlags }: Commands,
  names: readonly (string | number)[],
): Promise<void> {
  const steps: readonly (readonly [what: string, argv: readonly string[], folder: string])[] = [
    ['backup', ['backup', target, ...flags], data],
    ['backup again', ['backup', target, ...flags], data],
    ['verify', ['backup', 'verify', target, ...flags], data],
    ['restore and audit', ['restore', target, ...restoreFlags], restored],
  ];
  for (const [what, argv, folder] of steps) {
    const { code, ...taken } = await measureCommand(argv, folder);
    if (code !== 0 && folder === data) throw new Error(`${what} of ${names.join(' ')} exited with ${code}`);
    console.log(rowOf([what, ...names], taken));
  }
  await rm(restored, { recursive: true, force: true });
}

async function benchKafka(sizes: readonly number[]): Promise<void> {
  const missing = whyNoKafka();
  if (missing !== null) return console.log(`without Kafka: ${missing}`);
  const root = await mkdtemp(join(tmpdir(), 'clawloop-backups-'));
  const folder = join(root, 'kafka');
  await mkdir(folder);
  const node = await startKafka({ folder });
  const flags = (prefix: string) => [
    ...['--log', 'kafka', '--kafka-brokers', node.brokers.join(','), '--kafka-prefix', prefix],
  ];
  try {
    for (const events of sizes) {
      const place = join(root, String(events));
      const log = await openKafkaLog({ brokers: node.brokers, prefix: `${events}.` });
      await appendEvents(log, events, 40);
      await log.close();
      const to = {
        target: join(place, 'backup'),
        data: join(place, 'data'),
        restored: join(place, 'restored'),
        flags: flags(`${events}.`),
        restoreFlags: flags(`restored-${events}.`),
      };
      await benchCommands(to, ['Kafka to a folder', events]);
    }
  } finally {
    await node.kill();
    await rm(root, { recursive: true, force: true });
  }
}

const flagsOf = ({ url, accessKeyId, secretAccessKey }: S3Server): readonly string[] => [
  '--s3-endpoint',
  url,
  '--s3-access-key-id',
  accessKeyId,
  '--s3-secret-access-key',
  secretAccessKey,
];

const rowOf = (names: readonly (string | number)[], { seconds, processorSeconds, peakMib }: Taken): string =>
  `| ${[...names, seconds.toFixed(1), processorSeconds.toFixed(1), Math.round(peakMib)].join(' | ')} |`;
