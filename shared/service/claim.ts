import { DatabaseSync } from 'node:sqlite';
import { pause } from '../log/pause.ts';
import { isBusy } from '../log/sqlite/database.ts';
import { monotonicNow } from './clock.ts';
import { Refusal } from './refusal.ts';

export type Claim = { readonly release: () => void };

/** ms between two tries at what another process has claimed */
const RETRY_MS = 500;

/**
 * Makes this process the only one that holds the file; undefined: another one does. It holds a lock of the
 * file system by way of an empty database, which the system releases however the process ends.
 */
export function claimFile(path: string): Claim | undefined {
  const held = new DatabaseSync(path);
  try {
    held.exec('BEGIN EXCLUSIVE');
    return { release: () => held.close() };
  } catch (error) {
    held.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}

/** ms between two tries at what is held for a moment */
const SOON_MS = 20;

/**
 * Does something while this process alone holds the file; others that want it wait for their turn.
 * @throws Refusal after `limitMs` in vain
 */
export async function holdingFile<Result>(
  path: string,
  use: () => Promise<Result>,
  limitMs = 10_000,
): Promise<Result> {
  const began = monotonicNow();
  let claim = claimFile(path);
  while (claim === undefined) {
    if (monotonicNow() - began > limitMs) throw new Refusal(`another process holds ${path}; try again`);
    await pause(SOON_MS, new AbortController().signal);
    claim = claimFile(path);
  }
  try {
    return await use();
  } finally {
    claim.release();
  }
}

/**
 * Waits until whoever holds the file is gone, and tells once that it waits; undefined after the signal
 * aborts.
 */
export async function claimFileInTurn(
  path: string,
  onWaiting: () => void,
  signal: AbortSignal,
): Promise<Claim | undefined> {
  for (let told = false; !signal.aborted; told = true) {
    const claimed = claimFile(path);
    if (claimed !== undefined) return claimed;
    if (!told) onWaiting();
    await pause(RETRY_MS, signal);
  }
  return undefined;
}
