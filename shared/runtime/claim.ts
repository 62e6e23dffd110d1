import { DatabaseSync } from 'node:sqlite';
import { pause } from '../lang/async.ts';
import { isBusy } from '../log/sqlite/database.ts';
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
  const claim = await claimFileInTurn(path, () => {}, AbortSignal.timeout(limitMs), SOON_MS);
  if (claim === undefined) throw new Refusal(`another process is using ${path}; try again`);
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
  retryMs = RETRY_MS,
): Promise<Claim | undefined> {
  for (let isWaiting = false; !signal.aborted; isWaiting = true) {
    const claimed = claimFile(path);
    if (claimed !== undefined) return claimed;
    if (!isWaiting) onWaiting();
    await pause(retryMs, signal);
  }
  return undefined;
}
