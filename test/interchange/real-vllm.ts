import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort, until } from '../e2e/harness/clawloop.ts';
import { vllmCommand } from './python.ts';

export type RealVllm = {
  /** with its /v1 */
  readonly url: string;
  /** Names of the models that it serves: the base, and the adapters that are loaded. */
  readonly models: () => Promise<readonly string[]>;
  /** A figure of its /metrics, summed over its models. */
  readonly metric: (name: string) => Promise<number>;
  /** Dies, and comes back as a new process on the same port. */
  readonly killAndStart: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

const START_LIMIT_MS = 10 * 60_000;

/** vLLM on one thread of the CPU with the model of a folder, computed in f32; resolves when it answers. */
export async function startVllm(folder: string): Promise<RealVllm> {
  const command = vllmCommand();
  const port = await freePort();
  const root = `http://127.0.0.1:${port}`;
  const argv = [
    ...['serve', folder, '--host', '127.0.0.1', '--port', String(port), '--dtype', 'float32'],
    ...['--enable-lora', '--max-lora-rank', '16', '--max-loras', '2', '--max-cpu-loras', '8'],
    ...['--enable-auto-tool-choice', '--tool-call-parser', 'hermes'],
  ];
  const environment = {
    VLLM_ALLOW_RUNTIME_LORA_UPDATING: 'True',
    VLLM_CPU_KVCACHE_SPACE: '1', // GiB
    VLLM_CPU_OMP_THREADS_BIND: 'nobind',
    OMP_NUM_THREADS: '1',
    HF_HUB_OFFLINE: '1',
    VLLM_NO_USAGE_STATS: '1',
  };
  let child: ChildProcess;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const start = async () => {
    let said = '';
    // a group of its own: the engine and its helpers are processes beside the server
    child = spawn(command, argv, {
      ...{ stdio: ['ignore', 'pipe', 'pipe'], detached: true },
      env: { ...process.env, ...environment },
    });
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (part) => {
        said = (said + part).slice(-20_000);
      });
    const isWell = () =>
      fetch(`${root}/health`).then(
        ({ ok }) => ok,
        () => {
          if (!isAlive()) throw new Error(`vLLM ended:\n${said}`);
          return false;
        },
      );
    await until('vLLM answers', isWell, START_LIMIT_MS);
  };
  const end = async (signal: NodeJS.Signals) => {
    if (!isAlive()) return;
    const ended = once(child, 'exit');
    process.kill(-child.pid!, signal);
    await ended;
  };
  const stop = () => end('SIGKILL'); // nothing of it is to be kept
  await start().catch(async (error) => {
    await stop();
    throw error;
  });
  return {
    url: `${root}/v1`,
    models: async () => {
      const { data } = (await (await fetch(`${root}/v1/models`)).json()) as {
        readonly data: readonly { readonly id: string }[];
      };
      return data.map(({ id }) => id);
    },
    metric: async (name) => {
      const lines = (await (await fetch(`${root}/metrics`)).text()).split('\n');
      const values = lines
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => line.split(' ').at(-1));
      if (values.length === 0) throw new Error(`vLLM has no figure ${name}`);
      return values.reduce((sum, value) => sum + Number(value), 0);
    },
    killAndStart: async () => {
      await end('SIGKILL');
      await start();
    },
    stop,
  };
}
