import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { clawloop, freePort, until } from '../harness/clawloop.ts';

const nodeFlags = ['--disable-warning=ExperimentalWarning'];
const repository = fileURLToPath(new URL('../../..', import.meta.url));

export type ServiceName = 'serving' | 'collector' | 'judge' | 'trainer';

/** One process of one service. */
export type Replica = {
  readonly service: ServiceName;
  /** of its endpoint or its health port */
  readonly url: string;
  readonly pid: number;
  readonly isAlive: () => boolean;
  readonly output: () => string;
  readonly signal: (signal: 'SIGSTOP' | 'SIGCONT') => void;
  readonly isReady: () => Promise<boolean>;
  /** Resolves when the process is gone. */
  readonly end: (signal: 'SIGTERM' | 'SIGKILL') => Promise<number | null>;
  /** A figure of /metrics, summed over its labels. */
  readonly metric: (name: string) => Promise<number>;
  readonly client: OpenAI;
};

/** Any number of processes of every service over the same brokers and one data folder. */
export type Deployment = {
  readonly folder: string;
  /** Resolves at once; `ready` waits. */
  readonly start: (service: ServiceName, flags?: readonly string[], place?: Place) => Promise<Replica>;
  readonly ready: (replica: Replica) => Promise<Replica>;
  /** Runs a command of the cli that must succeed; resolves to its output. */
  readonly command: (...argv: readonly string[]) => Promise<string>;
  readonly dispose: () => Promise<void>;
};

/** Default: a free port, and this repository. */
export type Place = { readonly port?: number; readonly release?: string };

type Brokers = { readonly kafka: readonly string[]; readonly redis: string };

/** Sets the variables of the deployment in this process, too, for commands and readers of the log. */
export async function openDeployment(brokers: Brokers): Promise<Deployment> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-deployment-'));
  const settings: Readonly<Record<string, string>> = {
    CLAWLOOP_DATA_FOLDER: folder,
    CLAWLOOP_LOG: 'kafka',
    CLAWLOOP_KAFKA_BROKERS: brokers.kafka.join(','),
    CLAWLOOP_QUEUE: 'redis',
    CLAWLOOP_REDIS_URL: brokers.redis,
  };
  Object.assign(process.env, settings);
  const replicas: Replica[] = [];
  return {
    folder,
    start: async (service, flags = [], { port, release = repository } = {}) => {
      const main = join(release, 'services', service, 'main.ts');
      const replica = await startReplica(service, main, flags, port ?? (await freePort()));
      replicas.push(replica);
      return replica;
    },
    ready: async (replica) => {
      await until(`a ${replica.service} is ready`, replica.isReady, 180_000).catch((error: Error) => {
        throw new Error(`${error.message}\n${replica.output().slice(-4_000)}`);
      });
      return replica;
    },
    command: async (...argv) => {
      const { code, stdout, stderr } = await clawloop(argv);
      if (code !== 0) throw new Error(`clawloop ${argv.join(' ')}: ${stdout}${stderr}`);
      return stdout;
    },
    dispose: async () => {
      await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
      for (const name of Object.keys(settings)) delete process.env[name];
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function startReplica(
  service: ServiceName,
  main: string,
  flags: readonly string[],
  port: number,
): Promise<Replica> {
  const child = spawn(
    process.execPath,
    [...nodeFlags, main, service === 'serving' ? '--port' : '--health-port', String(port), ...flags],
    // the channel ends it with a test process that is killed
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
  );
  let text = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const url = `http://127.0.0.1:${port}`;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  return {
    service,
    url,
    pid: child.pid!,
    isAlive,
    output: () => text,
    signal: (signal) => void child.kill(signal),
    isReady: async () => {
      if (!isAlive()) throw new Error(`${service} ended with ${child.exitCode ?? child.signalCode}`);
      return fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
    },
    end: (signal) => endChild(child, signal),
    metric: async (name) => sumOf(await (await fetch(`${url}/metrics`)).text(), name),
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 }),
  };
}

async function endChild(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit');
    child.kill(signal);
    child.kill('SIGCONT'); // a stopped process would not handle SIGTERM
    await gone;
  }
  return child.exitCode;
}

const sumOf = (text: string, name: string): number =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
