import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../shared/runtime/free-port.ts';

export type RedisServer = {
  readonly url: string;
  /** SIGKILL; resolves when the process is gone. */
  readonly kill: () => Promise<void>;
  /** SIGSTOP: keeps its connections but does not answer */
  readonly freeze: () => void;
  /** SIGCONT. */
  readonly thaw: () => void;
  /** Starts it again with the same port and files. */
  readonly start: () => Promise<void>;
  /** Stops it and removes its files. */
  readonly close: () => Promise<void>;
};

const START_LIMIT_MS = 20_000;

/** Why Redis cannot be started here, if so (Debian and Ubuntu: package redis-server). */
export function whyNoRedis(): string | undefined {
  const { error } = spawnSync('redis-server', ['--version']);
  return error === undefined ? undefined : `redis-server cannot be run: ${error.message}`;
}

/**
 * Starts a Redis on a free port with an append-only file, as in a deployment: nothing is evicted, and timers run
 * a hundred times a second, so that delayed jobs are on time.
 * @throws Error when redis-server is not installed or does not answer in time
 */
export async function startRedis(): Promise<RedisServer> {
  const reason = whyNoRedis();
  if (reason !== undefined) throw new Error(reason);
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-redis-'));
  const port = await freePort();
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const child = spawn('redis-server', argumentsOf(port, folder), { stdio: 'ignore' });
    server = child;
    const started = performance.now();
    while (!(await answers(port))) {
      const late = performance.now() - started > START_LIMIT_MS;
      if (late || child.exitCode !== null || child.signalCode !== null) {
        child.kill('SIGKILL');
        throw new Error(`redis-server on port ${port} does not answer (exit ${child.exitCode})`);
      }
      await delay(20);
    }
  };

  const kill = async (): Promise<void> => {
    const child = server;
    server = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };

  await start();
  const close = async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  const freeze = () => void server?.kill('SIGSTOP');
  const thaw = () => void server?.kill('SIGCONT');
  return { url: `redis://127.0.0.1:${port}`, kill, freeze, thaw, start, close };
}

const argumentsOf = (port: number, folder: string): string[] => [
  '--port',
  String(port),
  '--bind',
  '127.0.0.1',
  '--dir',
  folder,
  '--appendonly',
  'yes',
  '--appendfsync',
  'everysec',
  '--save',
  '',
  '--maxmemory-policy',
  'noeviction',
  '--hz',
  '100',
];

/** Whether the server answers PING with PONG; it does not while it loads its file. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    socket.write('PING\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString().startsWith('+PONG');
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
