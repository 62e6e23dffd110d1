import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../shared/runtime/free-port.ts';
import { kafkaClassPath } from './jars.ts';

export type KafkaNode = {
  /** addresses for clients: `['127.0.0.1:port']` */
  readonly brokers: readonly string[];
  readonly pid: () => number;
  /** SIGTERM: ends in good order */
  readonly stop: () => Promise<void>;
  /** SIGKILL: ends at once */
  readonly kill: () => Promise<void>;
  /** SIGSTOP and SIGCONT. */
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  /** Starts it again with the same data and ports. Resolves when it answers. */
  readonly restart: () => Promise<void>;
};

type Options = {
  /** folder for configuration, data and log; created if missing */
  readonly folder: string;
  /** ports for clients and for the controller; default: free ports */
  readonly port?: number;
  readonly controllerPort?: number;
  /** overrides or adds to the settings below */
  readonly settings?: Readonly<Record<string, string>>;
};

const patienceMs = 90_000;

/** Ends Kafka if this process is killed. Linux only. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' }).status === 0;

/**
 * Starts a real Apache Kafka, broker and controller in one process (KRaft), for tests on this machine: a small
 * heap, one replica of everything, and short session and transaction timeouts.
 */
export async function startKafka({
  folder,
  port,
  controllerPort,
  settings = {},
}: Options): Promise<KafkaNode> {
  const classPath = kafkaClassPath();
  mkdirSync(folder, { recursive: true });
  const ports = { client: port ?? (await freePort()), controller: controllerPort ?? (await freePort()) };
  const configuration = join(folder, 'server.properties');
  writeFileSync(configuration, asProperties({ ...propertiesOf(folder, ports), ...settings }));
  format(classPath, configuration, folder);
  let child = await run(classPath, configuration, folder, ports.client);

  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    // a stopped process would not receive the signal
    child.kill('SIGCONT');
    await gone;
  };
  return {
    brokers: [`127.0.0.1:${ports.client}`],
    pid: () => child.pid!,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    signal: (signal) => void child.kill(signal),
    restart: async () => {
      await end('SIGTERM');
      child = await run(classPath, configuration, folder, ports.client);
    },
  };
}

type Ports = { readonly client: number; readonly controller: number };

const propertiesOf = (folder: string, { client, controller }: Ports): Record<string, string> => ({
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.quorum.voters': `1@127.0.0.1:${controller}`,
  listeners: `PLAINTEXT://127.0.0.1:${client},CONTROLLER://127.0.0.1:${controller}`,
  'advertised.listeners': `PLAINTEXT://127.0.0.1:${client}`,
  'controller.listener.names': 'CONTROLLER',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'log.dirs': join(folder, 'data'),
  'auto.create.topics.enable': 'false',
  'default.replication.factor': '1',
  ...oneOfEach('offsets.topic', ['replication.factor', 'num.partitions']),
  ...oneOfEach('transaction.state.log', ['replication.factor', 'min.isr', 'num.partitions']),
  ...oneOfEach('share.coordinator.state.topic', ['replication.factor', 'min.isr', 'num.partitions']),
  // do not wait for further members of a group
  'group.initial.rebalance.delay.ms': '0',
  'group.min.session.timeout.ms': '500',
  // added to the timeout of abandoned transactions; default 10 s
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '500',
  // a killed node can rejoin only after its old session has expired; default 9 s
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '500',
  // defaults: 128 MB of heap, and 10 MB of disk per index of a partition
  'log.cleaner.dedupe.buffer.size': '4194304',
  'log.index.size.max.bytes': '1048576',
  'num.network.threads': '2',
  'num.io.threads': '4',
  'background.threads': '2',
});

const oneOfEach = (prefix: string, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [`${prefix}.${name}`, '1']));

const asProperties = (properties: Readonly<Record<string, string>>): string =>
  `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;

/** Formats the storage once per data folder; the cluster id is any 16 bytes. */
function format(classPath: string, configuration: string, folder: string): void {
  if (existsSync(join(folder, 'data', 'meta.properties'))) return;
  const ran = spawnSync(
    'java',
    [
      '-Xmx128m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-cp',
      classPath,
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      'kafka.tools.StorageTool',
      'format',
      '-t',
      'Y2xhd2xvb3AtdGVzdHMhIQ',
      '-c',
      configuration,
    ],
    { encoding: 'utf8' },
  );
  if (ran.status !== 0) throw new Error(`could not format Kafka's storage: ${ran.stdout}${ran.stderr}`);
}

async function run(
  classPath: string,
  configuration: string,
  folder: string,
  port: number,
): Promise<ChildProcess> {
  const logFile = join(folder, 'kafka.log');
  const log = openSync(logFile, 'a');
  const child = spawn(
    diesWithUs ? 'setpriv' : 'java',
    [
      ...(diesWithUs ? ['--pdeathsig', 'KILL', 'java'] : []),
      '-Xmx256m',
      '-Xms64m',
      '-XX:+UseSerialGC',
      '-cp',
      classPath,
      '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
      'kafka.Kafka',
      configuration,
    ],
    { stdio: ['ignore', log, log], cwd: folder },
  );
  // on systems that do not end it by themselves
  const killWithUs = () => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  child.once('exit', () => process.off('exit', killWithUs));

  const deadline = performance.now() + patienceMs;
  while (!(await answers(port))) {
    if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
      child.kill('SIGKILL');
      const said = readFileSync(logFile, 'utf8').slice(-2_000);
      throw new Error(`Kafka did not start (exit ${child.exitCode ?? child.signalCode}): ${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return child;
}

/** int32 size, int16 api 18 (ApiVersions), int16 version 0, int32 correlation id, int16 -1: no client id. */
const apiVersions = Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff]);

/** An open port does not yet mean that Kafka answers. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const finish = (answered: boolean) => {
      socket.destroy();
      resolve(answered);
    };
    socket.setTimeout(1_000, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('data', () => finish(true));
    socket.once('connect', () => socket.write(apiVersions));
  });
}
