import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type CheckpointSummary, entriesOf, isTemporary, listCheckpoints } from './checkpoint-store.ts';
import { attemptsSuffix } from './checkpoint-store-attempts.ts';

export type Retention = {
  /** checkpoints that are kept, by number and along the head's lineage */
  readonly keep: number;
  /** the version that is served */
  readonly head: number;
  /** parent of the open batch */
  readonly openParent: number | undefined;
};

/** ms after which what a writer left behind is nobody's; writing takes seconds. */
const LEFTOVER_MS = 60 * 60 * 1000;

/**
 * Which may go: not the newest `keep`, not the head, not its last `keep` ancestors (rollback), not the open
 * batch's parent.
 */
export function prunable(
  checkpoints: readonly CheckpointSummary[],
  { keep, head, openParent }: Retention,
): readonly string[] {
  const byVersion = new Map(checkpoints.map((one) => [one.state.version, one]));
  const kept = new Set([head, openParent]);
  for (const { state } of checkpoints.toSorted((a, b) => b.state.version - a.state.version).slice(0, keep))
    kept.add(state.version);
  for (let at = byVersion.get(head), left = keep; at !== undefined && left > 0; left--) {
    kept.add(at.state.version);
    at = byVersion.get(at.state.parent);
  }
  return checkpoints.filter(({ state }) => !kept.has(state.version)).map(({ name }) => name);
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
