import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const entry = fileURLToPath(new URL('../tinker-fakes/server.ts', import.meta.url));
const Ready = z.object({ url: z.string() });
const State = z.object({
  models: z.array(z.object({ id: z.string(), requests: z.number() })),
  states: z.array(z.string()),
  modelsCreated: z.number(),
  statesLoaded: z.number(),
});

/** A training server that can be killed and restarted at the same address, with its saved states. */
export type ServerProcess = {
  readonly url: () => string;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly isRunning: () => boolean;
  /** So much time passes for sessions without a heartbeat. */
  readonly elapse: (ms: number) => Promise<void>;
  /** Models and saved states; how many models were created and states loaded since its start. */
  readonly state: () => Promise<z.output<typeof State>>;
  readonly dispose: () => Promise<void>;
};

export async function openServerProcess(flags: readonly string[] = []): Promise<ServerProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-training-server-'));
  let child: ChildProcess | undefined;
  let url: string | undefined;
  const isRunning = () => child?.exitCode === null && child.signalCode === null;
  const kill = async () => {
    if (child === undefined || !isRunning()) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const server: ServerProcess = {
    url: () => url!,
    isRunning,
    kill,
    start: async () => {
      const port = url === undefined ? '0' : new URL(url).port;
      const argv = ['--disable-warning=ExperimentalWarning', entry, '--folder', folder, '--port', port];
      child = spawn(process.execPath, [...argv, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
      for await (const line of createInterface({ input: child.stdout! })) {
        url = Ready.parse(JSON.parse(line)).url;
        break;
      }
    },
    elapse: async (ms) => {
      const answer = await fetch(`${url}/fake/elapse`, { method: 'POST', body: JSON.stringify({ ms }) });
      if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    },
    state: async () => State.parse(await (await fetch(`${url}/fake/state`)).json()),
    dispose: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
