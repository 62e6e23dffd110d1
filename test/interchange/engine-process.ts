import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { z } from 'zod';
import { freePort, until } from '../e2e/harness/clawloop.ts';

export type EngineProcess = {
  /** without its /v1 */
  readonly root: string;
  /** Names of the models that it serves: the base, and the adapters that are loaded. */
  readonly models: () => Promise<readonly string[]>;
  /** SIGKILL to it and to its workers: nothing of it is to be kept. */
  readonly kill: () => Promise<void>;
  /** Comes back as a new process on the same port; resolves when it answers. */
  readonly start: () => Promise<void>;
};

export type EngineCommand = {
  readonly name: string;
  readonly command: string;
  readonly argv: (port: number) => readonly string[];
  readonly environment: Readonly<Record<string, string>>;
};

/** They import for minutes where the machine is busy. */
const START_LIMIT_MS = 15 * 60_000;
const Models = z.object({ data: z.array(z.object({ id: z.string() })) });

/** An engine of another make, on a free port; resolves when it answers. */
export async function startEngine({
  name,
  command,
  argv,
  environment,
}: EngineCommand): Promise<EngineProcess> {
  const port = await freePort();
  const root = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let said = '';
  const isAlive = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = async () => {
    said = '';
    child = spawn(command, argv(port), {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group of its own: its workers end with it
      env: { ...process.env, HF_HUB_OFFLINE: '1', ...environment },
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (part) => {
        said = `${said}${part}`.slice(-20_000);
      });
    const isWell = () =>
      fetch(`${root}/health`).then(
        ({ ok }) => ok,
        () => {
          if (!isAlive()) throw new Error(`${name} ended:\n${said}`);
          return false;
        },
      );
    await until(`${name} answers`, isWell, START_LIMIT_MS);
  };
  const kill = async () => {
    if (!isAlive()) return;
    const ended = once(child!, 'exit');
    process.kill(-child!.pid!, 'SIGKILL');
    await ended;
  };
  await start().catch(async (error) => {
    await kill();
    throw error;
  });
  return {
    root,
    models: async () =>
      Models.parse(await (await fetch(`${root}/v1/models`)).json()).data.map(({ id }) => id),
    kill,
    start,
  };
}
