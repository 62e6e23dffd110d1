import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { until } from '../harness/clawloop.ts';

export type ServiceName = 'serving' | 'collector' | 'judge' | 'trainer' | 'console';
export const serviceNames: readonly ServiceName[] = ['serving', 'collector', 'judge', 'trainer', 'console'];

export type Ended = { readonly code: number | null; readonly output: string; readonly stderr: string };

export type ServiceProcess = {
  readonly pid: number;
  readonly output: () => string;
  /** Address of /healthz, /readyz and /metrics; resolves when it listens. */
  readonly url: () => Promise<string>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** SIGTERM; resolves to its exit and the time until then. */
  readonly stop: () => Promise<Ended & { readonly milliseconds: number }>;
  readonly ended: Promise<Ended>;
};

const repository = fileURLToPath(new URL('../../..', import.meta.url));

/** One service alone, on a free port and on wasm, which starts at once. */
export function startService(
  name: ServiceName,
  flags: readonly string[],
  { root = repository, env = {} }: { readonly root?: string; readonly env?: NodeJS.ProcessEnv } = {},
): ServiceProcess {
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      `${root}/services/${name}/main.ts`,
      name === 'serving' || name === 'console' ? '--port' : '--health-port',
      '0',
      ...(flags.includes('--backend') ? [] : ['--backend', 'wasm']),
      ...flags,
    ],
    // the channel ends it with a test process that is killed
    { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env: { ...process.env, ...env } },
  );
  let output = '';
  let stderr = '';
  let port: number | undefined;
  createInterface({ input: child.stdout! }).on('line', (line) => {
    output += `${line}\n`;
    if (!line.startsWith('{')) return;
    const said = JSON.parse(line) as { port?: number; endpoint?: string };
    port ??= said.port ?? (said.endpoint === undefined ? undefined : Number(new URL(said.endpoint).port));
  });
  child.stderr!.on('data', (part: Buffer) => {
    stderr += part.toString();
  });
  const ended = once(child, 'close').then(([code]): Ended => ({ code, output, stderr }));
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  return {
    pid: child.pid!,
    output: () => output + stderr,
    url: () =>
      until(`${name} listens`, () => {
        if (isOver()) throw new Error(`${name} ended:\n${output}${stderr}`);
        return port !== undefined && `http://127.0.0.1:${port}`;
      }),
    signal: (signal) => void child.kill(signal),
    stop: async () => {
      const began = performance.now();
      if (!isOver()) child.kill('SIGTERM');
      return { ...(await ended), milliseconds: performance.now() - began };
    },
    ended,
  };
}

/** Resolves when /readyz returns 200. */
export const untilReady = async (service: ServiceProcess): Promise<string> => {
  const url = await service.url();
  await until('it is ready', () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${service.output()}`);
  });
  return url;
};
