import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CheckpointSummary, entriesOf, isTemporary, listCheckpoints } from './checkpoint-store.ts';
import { attemptsSuffix } from './checkpoint-store-attempts.ts';

export type Retention = {
  /** checkpoints of the head's lineage that are kept at most, and twice as many as of the newest by number */
  readonly keep: number;
  /** versions from the one that is served back to the base */
  readonly lineage: readonly number[];
  /** parent of the open batch */
  readonly openParent: number | undefined;
};

/** ms after which what a writer left behind is nobody's; writing takes seconds. */
const LEFTOVER_MS = 60 * 60 * 1000;

/**
 * Which may go: not the head, not those of its ancestors that are spread over the past, not the newest by number
 * (a rollback may be taken back), not the open batch's parent. A slow drift is seen late: the way back must
 * reach further than the latest days.
 */
export function prunable(
  checkpoints: readonly CheckpointSummary[],
  { keep, lineage, openParent }: Retention,
): readonly string[] {
  const newest = checkpoints.map(({ state }) => state.version).toSorted((a, b) => b - a);
  const kept = new Set([
    ...spreadOut(lineage).slice(0, keep),
    ...newest.slice(0, Math.ceil(keep / 2)),
    openParent,
  ]);
  return checkpoints.filter(({ state }) => !kept.has(state.version)).map(({ name }) => name);
}

/**
 * The head, and one version each of those that are 1, 2 to 3, 4 to 7, 8 to 15 ... steps back, the nearest
 * first. Of 2^i of them it is the one whose distance from the base 2^i divides: by the time that it is one of
 * 2^(i + 1), it is the one of those, or another is that was kept as well. So what a later head wants has never
 * been removed.
 */
export function spreadOut(lineage: readonly number[]): readonly number[] {
  return lineage.filter((_, back) => {
    const fromBase = lineage.length - 1 - back;
    return back === 0 || fromBase % 2 ** Math.floor(Math.log2(back)) === 0;
  });
}

/** Removes what the rule lets go, and what crashed writers left behind. Returns the names. */
export async function pruneCheckpoints(store: string, retention: Retention): Promise<readonly string[]> {
  const checkpoints = await listCheckpoints(store);
  const old = prunable(checkpoints, retention);
  const settled = new Set(checkpoints.map(({ name }) => name + attemptsSuffix));
  const leftovers: string[] = [];
  for (const name of await entriesOf(store)) {
    if (settled.has(name) || (isTemporary(name) && (await isOlder(join(store, name), LEFTOVER_MS))))
      leftovers.push(name);
  }
  const gone = [...old, ...leftovers];
  for (const name of gone) await rm(join(store, name), { recursive: true, force: true });
  return gone;
}

async function isOlder(path: string, ms: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > ms;
  } catch {
    return false; // its writer has just renamed it
  }
}
