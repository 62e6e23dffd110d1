import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { until } from '../../e2e/harness/clawloop.ts';
import { startService } from '../../e2e/wiring/service-process.ts';
import { processorMs } from '../load/processes.ts';

export type Taken = {
  readonly seconds: number;
  readonly processorSeconds: number;
  /** largest resident memory */
  readonly peakMib: number;
};

/** ms until a start counts as failed */
const LONGEST_MS = 1_800_000;
/** ms between two looks at a running command */
const LOOK_MS = 25;

/** From the start of a service to its first answer of 200 to /readyz. Then the service stops. */
export async function measureService(name: 'serving' | 'console', folder: string): Promise<Taken> {
  const began = performance.now();
  const service = startService(name, ['--data-folder', folder]);
  try {
    const url = await service.url();
    await until('it is ready', () => isReady(url), LONGEST_MS);
    const seconds = (performance.now() - began) / 1_000;
    return { seconds, ...(await usageOf(service.pid)) };
  } finally {
    await service.stop();
  }
}

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ ok }) => ok,
    () => false,
  );

const cli = fileURLToPath(new URL('../../../services/cli/main.ts', import.meta.url));

/** From the start of a command to its end. */
export async function measureCommand(
  argv: readonly string[],
  folder: string,
): Promise<Taken & { readonly code: number | null }> {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', cli, ...argv, '--data-folder', folder],
    { stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  const last = await lastUsage(child);
  const [code] = (await exited) as [number | null];
  return { seconds: (performance.now() - began) / 1_000, ...last, code };
}

/** The last look before the end: it misses at most LOOK_MS. */
async function lastUsage(child: ChildProcess): Promise<Omit<Taken, 'seconds'>> {
  let last = { processorSeconds: 0, peakMib: 0 };
  while (child.exitCode === null && child.signalCode === null) {
    const usage = await usageOf(child.pid!);
    if (usage.peakMib > 0) last = usage;
    await delay(LOOK_MS);
  }
  return last;
}

/** Zeros when the process is over. */
export async function usageOf(pid: number): Promise<Omit<Taken, 'seconds'>> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const peakKib = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0);
  return { processorSeconds: (await processorMs(pid)) / 1_000, peakMib: peakKib / 1024 };
}
