import { statSync, utimesSync } from 'node:fs';
import { claimFile } from '../../../shared/service/claim.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';

export type DrainTurn = {
  /** To be called at every fact: the others watch for it. */
  readonly showLife: () => void;
  readonly release: () => void;
};

/** ms without a sign of life after which whoever drains counts as stopped */
const STUCK_MS = 10_000;

/**
 * Whose turn it is to drain an outbox that replicas share. Being wrong costs copies in the log, nothing else:
 * a process that was stopped in its turn (SIGSTOP), or a disk too full for a lock, holds up nobody.
 */
export function openTurns(lock: string): { readonly take: () => DrainTurn | undefined } {
  let awaited: { readonly sign: number; readonly since: number } | undefined;
  const showLife = (): void => {
    const now = new Date();
    tried(() => utimesSync(lock, now, now));
  };
  /** Moves as long as whoever holds the turn lives; compared with itself, not with a clock. */
  const lastSign = (): number => tried(() => statSync(lock).mtimeMs) ?? 0;
  return {
    /** undefined: another process drains. */
    take: () => {
      const claimed = tried(() => ({ claim: claimFile(lock) })) ?? 'no lock';
      if (claimed === 'no lock') return { showLife, release: () => undefined };
      const { claim } = claimed;
      if (claim !== undefined) return { showLife, release: claim.release };
      const sign = lastSign();
      if (awaited?.sign !== sign) awaited = { sign, since: monotonicNow() };
      const isStuck = monotonicNow() - awaited.since >= STUCK_MS;
      return isStuck ? { showLife: () => undefined, release: () => undefined } : undefined;
    },
  };
}

function tried<Result>(attempt: () => Result): Result | undefined {
  try {
    return attempt();
  } catch {
    return undefined;
  }
}
