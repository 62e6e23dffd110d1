import { DatabaseSync } from 'node:sqlite';
import { pause } from '../lang/async.ts';
import { isBusy } from '../log/sqlite/database.ts';
import { monotonicNow } from './clock.ts';
import { Refusal } from './refusal.ts';

export type Claim = { readonly release: () => void };

/** ms between two tries to claim a file of another process */
const RETRY_MS = 500;

/**
 * Claims a file for this process; undefined: another process has it. The claim is a file lock on an empty
 * database, which the system releases however the process ends.
 */
export function claimFile(path: string): Claim | undefined {
  const database = new DatabaseSync(path);
  try {
    database.exec('BEGIN EXCLUSIVE');
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** ms between two tries to get a short claim */
const SOON_MS = 20;

/**
 * Runs `use` while this process has claimed the file; other processes wait.
 * @throws Refusal when the file is not free within `limitMs`
 */
export async function holdingFile<Result>(
  path: string,
  use: () => Promise<Result>,
  limitMs = 10_000,
): Promise<Result> {
  const began = monotonicNow();
  let claim = claimFile(path);
  while (claim === undefined) {
    if (monotonicNow() - began > limitMs) throw new Refusal(`another process is using ${path}; try again`);
    await pause(SOON_MS);
    claim = claimFile(path);
  }
  try {
    return await use();
  } finally {
    claim.release();
  }
}

/** Waits until the file is free. Calls `onWaiting` once if it must wait. Undefined after the signal aborts. */
export async function claimFileInTurn(
  path: string,
  onWaiting: () => void,
  signal: AbortSignal,
): Promise<Claim | undefined> {
  for (let isWaiting = false; !signal.aborted; isWaiting = true) {
    const claimed = claimFile(path);
    if (claimed !== undefined) return claimed;
    if (!isWaiting) onWaiting();
    await pause(RETRY_MS, signal);
  }
  return undefined;
}
