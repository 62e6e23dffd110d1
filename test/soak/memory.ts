import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Of one process, MiB. */
export type Memory = {
  /**
   * What it holds for itself. On Linux without mapped files (TensorFlow's library) and without what it has
   * given back: both stay resident until the kernel needs the pages.
   */
  readonly held: number;
  /**
   * Most that was resident, mapped files included; so far as it was looked at, where the kernel does not keep
   * it.
   */
  readonly peak: number;
};

/** Memory of processes by the names they are given under. One that is gone is left out. */
export async function memoryOf(
  pids: Readonly<Record<string, number>>,
): Promise<Readonly<Record<string, Memory>>> {
  const read = process.platform === 'linux' ? fromProc : fromPs;
  const found = await Promise.all(
    Object.entries(pids).map(async ([name, pid]) => {
      const memory = await read(pid).catch(() => undefined);
      return memory === undefined ? [] : [[name, memory] as const];
    }),
  );
  return Object.fromEntries(found.flat());
}

async function fromProc(pid: number): Promise<Memory | undefined> {
  const [status, smaps] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8'),
  ]);
  const field = (text: string, name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) / 1024;
  return { held: field(smaps, 'Anonymous') - field(smaps, 'LazyFree'), peak: field(status, 'VmHWM') };
}

async function fromPs(pid: number): Promise<Memory | undefined> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  const resident = Number(stdout) / 1024;
  return { held: resident, peak: resident };
}
