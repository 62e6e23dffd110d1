import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { workerData } from 'node:worker_threads';

/**
 * Loaded by the database's thread of a child process. The signal happens at the step that a file in the log's
 * folder is named for: `SIGKILL-at-rows`, `SIGSTOP-at-committed`. Once: the file is removed first. Who wakes it
 * leaves `woken-at-committed` there before.
 */
export function onStep(step: string): void {
  const { folder } = workerData as { readonly folder: string };
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
    const file = join(folder, `${signal}-at-${step}`);
    if (!existsSync(file)) continue;
    rmSync(file);
    process.kill(process.pid, signal);
    // The main thread takes the signal, when it next runs; this one would be out of the step by then.
    const woken = join(folder, `woken-at-${step}`);
    while (!existsSync(woken)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    rmSync(woken);
  }
}
