import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort, until } from '../harness/clawloop.ts';
import { openEnvPython } from './install.ts';

export type OpenEnvServer = {
  /** `http://127.0.0.1:PORT`; the sessions are at `/ws` of the same port */
  readonly url: string;
  /** Its output so far. */
  readonly output: () => string;
  /** Resolves when the process ends: its exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
  readonly stop: () => Promise<void>;
  /** Ends the process at once with SIGKILL: its sockets break without a close frame. */
  readonly kill: () => Promise<void>;
};

/** The server must not outlive a test process that is killed. Only Linux offers a way. */
const diesWithUs = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true'], { stdio: 'ignore' }).status === 0;
const [command, ...before] = [...(diesWithUs ? ['setpriv', '--pdeathsig', 'KILL'] : []), openEnvPython];

/** ms: it starts in two seconds, but other tests may run beside it */
const START_LIMIT_MS = 120_000;
/** ms: the server itself gives open sessions one second */
const STOP_LIMIT_MS = 10_000;

/**
 * Starts an OpenEnv server of `servers/` and waits until it answers. The top of each script lists its flags.
 * Pass a port to bring a server back at the address of an earlier server.
 *
 * @throws Error with its output when it does not start
 */
export async function startOpenEnv(
  script: 'room' | 'bfcl',
  flags: readonly string[] = [],
  port?: number,
): Promise<OpenEnvServer> {
  const listensOn = port ?? (await freePort());
  const file = fileURLToPath(new URL(`./servers/${script}.py`, import.meta.url));
  const child = spawn(command!, [...before, file, '--port', String(listensOn), ...flags], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // no __pycache__ in the checkout
    env: { PATH: process.env.PATH, PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part));
  const ended = once(child, 'exit').then(
    ([code]) => code as number | null,
    () => null, // it never started
  );
  const url = `http://127.0.0.1:${listensOn}`;
  await until(`the OpenEnv server ${script} answers`, () => answers(child, url), START_LIMIT_MS).catch(
    async (error: Error) => {
      await end(child, 'SIGKILL');
      throw new Error(`${error.message}\n${text.slice(-4_000)}`);
    },
  );
  return {
    url,
    output: () => text,
    ended,
    stop: () => end(child, 'SIGTERM'),
    kill: () => end(child, 'SIGKILL'),
  };
}

const isAlive = (child: ChildProcess) =>
  child.pid !== undefined && child.exitCode === null && child.signalCode === null;

async function answers(child: ChildProcess, url: string): Promise<boolean> {
  if (!isAlive(child)) throw new Error('the OpenEnv server ended');
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isAlive(child)) return;
  child.kill(signal);
  const force = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await once(child, 'exit');
  clearTimeout(force);
}
