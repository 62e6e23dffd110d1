import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';

/**
 * Loaded by the database's thread of a child process. A file in the log's folder names the signal and the step:
 * `SIGKILL-at-rows`, `SIGSTOP-at-committed`. The signal is sent once, because the file is removed first. A test creates
 * `woken-at-committed` there before it sends SIGCONT.
 */
export function onStep(step: string): void {
  const { folder } = workerData as { readonly folder: string };
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const file = join(folder, `${signal}-at-${step}`);
    if (!existsSync(file)) continue;
    rmSync(file);
    process.kill(process.pid, signal);
    // The main thread handles the signal when it next runs; without this wait, this thread would have left the step by
    // then.
    const woken = join(folder, `woken-at-${step}`);
    while (!existsSync(woken)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    rmSync(woken);
  }
}
