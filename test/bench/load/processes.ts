import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Pace } from './engine.ts';
import type { Order, Reply, Taken } from './generator.ts';

/** One of the bench's own processes; it ends with this one. */
const start = (file: string, ...argv: readonly string[]): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), argv, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });

async function startServer(file: string, ...argv: readonly string[]) {
  const child = start(file, ...argv);
  const [port] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return { child, pid: child.pid!, url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

export async function startEngine() {
  const { child, url, stop } = await startServer('./engine.ts');
  const setPace = async (pace: Pace): Promise<void> => {
    child.send(pace);
    await once(child, 'message');
  };
  return { url, stop, setPace };
}

export const startPassThrough = (engineUrl: string) => startServer('./pass-through.ts', engineUrl);

export function startGenerator() {
  const child = start('./generator.ts');
  const ask = async (order: Order): Promise<Taken> => {
    child.send(order);
    const [reply] = (await once(child, 'message')) as [Reply];
    if ('error' in reply) throw new Error(`${order.url}: ${reply.error}`);
    return reply.taken;
  };
  return { ask, stop: () => child.kill() };
}

/**
 * ms of processor time that a process has taken, all its threads together, in steps of 10 ms; NaN on a system without
 * /proc.
 */
export async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * 10;
}
