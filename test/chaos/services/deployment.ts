import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { whyNoKafka } from '../../../infra/kafka/jars.ts';
import { type KafkaNode, startKafka } from '../../../infra/kafka/start-kafka.ts';
import { type RedisServer, startRedis, whyNoRedis } from '../../../infra/redis/start-redis.ts';
import { loadConfig } from '../../../shared/config/common.ts';
import { LogConfig } from '../../../shared/config/log.ts';
import { dataFolder as foldersIn } from '../../../shared/runtime/data-folder.ts';
import { openLog } from '../../../shared/runtime/open-log.ts';
import { freePort } from '../../e2e/harness/clawloop.ts';
import { closeAll } from './close-all.ts';
import { requiresAll } from './config.ts';
import { type Mode, type ServiceName, serviceNames } from './plan.ts';
import { type ServiceProcess, startService } from './service-process.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

export type Deployment = {
  readonly mode: Mode;
  /** Address of serving. */
  readonly url: string;
  readonly dataFolder: string;
  /** Environment variables by which other processes find log and queue. */
  readonly environment: Readonly<Record<string, string>>;
  readonly services: readonly ServiceProcess[];
  readonly kafka: KafkaNode | undefined;
  readonly redis: RedisServer | undefined;
  readonly disk: SmallDisk | undefined;
  /** Shifts the wall clock of a service from now on, ms. */
  readonly setClock: (service: ServiceName, offsetMs: number) => Promise<void>;
  /** SIGTERM to all services; how each ended: `judge: exit 0`. */
  readonly stopServices: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
};

type Options = {
  readonly mode: Mode;
  readonly folder: string;
  readonly judgeUrl: string;
  readonly hasSmallDisk: boolean;
  /** Of collector and judge. */
  readonly replicas: number;
  /** Each candidate first answers half of the sessions. */
  readonly hasCanaries?: boolean;
};

/** Why Kafka or Redis cannot run here; undefined: they can, or they are required. */
export const whyNoBrokers = (): string | undefined =>
  requiresAll() ? undefined : (whyNoKafka() ?? whyNoRedis());

/** MB; a seed writes a tenth of it */
const DISK_MB = 256;

/** Short timeouts for a test: a dead member is noticed soon, and obligations are checked often. */
const settings: Readonly<Record<ServiceName, readonly string[]>> = {
  serving: [],
  collector: ['--idle-ms', '8000', '--waited-ms', '4000', '--sweep-ms', '500', '--owed-interval-ms', '2000'],
  judge: [
    '--kind',
    'openai',
    '--exam',
    'false',
    '--openai-api-key',
    'none',
    '--sweep-ms',
    '1000',
    '--retry-after-ms',
    '3000',
    '--vote-backoff-ms',
    '100',
    '--vote-max-backoff-ms',
    '1000',
    '--vote-timeout-ms',
    '5000',
  ],
  trainer: ['--owed-interval-ms', '2000'],
  console: [],
};
const common = ['--session-timeout-ms', '3000'];
/** Of the collector; many canaries are decided within a seed, and few batches wait for them at its end. */
const canaries = [
  '--canary-share',
  '0.5',
  '--canary-turns',
  '4',
  '--canary-hours',
  '0.01',
  '--batch-size',
  '8',
];

/** All services, one process each, on a new log; in mode `brokers` with their own Kafka and Redis. */
export async function startDeployment({
  mode,
  folder,
  judgeUrl,
  hasSmallDisk,
  replicas,
  hasCanaries = false,
}: Options): Promise<Deployment> {
  const dataFolder = join(folder, 'data');
  const [logs, clocks] = [join(folder, 'logs'), join(folder, 'clocks')];
  for (const path of [dataFolder, logs, clocks]) await mkdir(path, { recursive: true });
  const disk = hasSmallDisk ? await mountSmallDisk(join(dataFolder, 'log'), DISK_MB) : undefined;
  const closing: (() => Promise<unknown>)[] = [];
  const close = () => closeAll(closing);
  if (disk !== undefined) closing.push(disk.remove);
  try {
    const kafka = mode === 'brokers' ? await startKafka({ folder: join(folder, 'kafka') }) : undefined;
    if (kafka !== undefined) closing.push(kafka.kill);
    const redis = mode === 'brokers' ? await startRedis() : undefined;
    if (redis !== undefined) closing.push(redis.close);
    const broker = kafka === undefined ? [] : ['--log', 'kafka', '--kafka-brokers', kafka.brokers.join(',')];
    const queue = redis === undefined ? [] : ['--queue', 'redis', '--redis-url', redis.url];
    const flags: Readonly<Record<ServiceName, readonly string[]>> = {
      serving: [],
      collector: hasCanaries ? canaries : [],
      judge: [...queue, '--openai-base-url', judgeUrl],
      trainer: queue,
      console: [],
    };
    const start = async (name: ServiceName, replica: number): Promise<ServiceProcess> => {
      const port = await freePort();
      return startService({
        name,
        health: `http://127.0.0.1:${port}`,
        flags: [
          '--data-folder',
          dataFolder,
          name === 'serving' || name === 'console' ? '--port' : '--health-port',
          String(port),
          ...common,
          ...broker,
          ...settings[name],
          ...flags[name],
        ],
        logFile: join(logs, `${name}-${replica}.log`),
        clockFile: join(clocks, name),
      });
    };
    const services: ServiceProcess[] = [];
    const stopServices = async () => {
      return Promise.all(services.map(async (one) => `${one.name}: exit ${await one.stop()}`));
    };
    closing.push(stopServices, async () => disk?.makeRoom());
    for (const name of serviceNames) {
      const count = name === 'collector' || name === 'judge' ? replicas : 1;
      for (let replica = 0; replica < count; replica += 1) services.push(await start(name, replica));
    }
    await Promise.all(services.map(({ untilReady }) => untilReady()));
    return {
      mode,
      url: services[0]!.health,
      dataFolder,
      environment:
        kafka === undefined ? {} : { CLAWLOOP_LOG: 'kafka', CLAWLOOP_KAFKA_BROKERS: kafka.brokers.join(',') },
      services,
      kafka,
      redis,
      disk,
      setClock: (service, offsetMs) => writeFile(join(clocks, service), String(offsetMs)),
      stopServices,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The log, opened by this process. */
export async function logOf({ dataFolder: folder, kafka }: Deployment) {
  const flags = kafka === undefined ? [] : ['--log', 'kafka', '--kafka-brokers', kafka.brokers.join(',')];
  return openLog(loadConfig('cli', LogConfig, flags).values, foldersIn(folder));
}
