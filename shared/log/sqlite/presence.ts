import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

export type Instance = { readonly instance: string; readonly pid: number; readonly pids: string };

export type Presence = Instance & {
  /** Says that this instance lives. Called once per `tickMs`. */
  readonly beat: () => void;
  /** Looks at the others once, and tells which of them are dead. Called once per `tickMs`. */
  readonly look: (others: readonly Instance[]) => ReadonlySet<string>;
  /** Starts to watch it anew. */
  readonly forget: (instance: string) => void;
  readonly close: () => void;
};

/**
 * Who lives, without comparing clocks: each open log counts up in a small file, and the others watch that it
 * moves, each on its own monotonic clock. A file, not a row: it needs no transaction and no flush. A process
 * that is gone from our PID namespace is dead at once. Being wrong costs a hand-over, nothing else: a commit
 * is fenced by its lease.
 */
export function openPresence(folder: string, sessionTimeoutMs: number, tickMs: number): Presence {
  const members = join(folder, 'members');
  mkdirSync(members, { recursive: true });
  const me: Instance = { instance: randomUUID(), pid: process.pid, pids: pidNamespace() };
  const path = (instance: string) => join(members, instance);
  const file = openSync(path(me.instance), 'w');
  const silent = new Map<string, { count: string; forMs: number }>();
  let count = 0;
  let lookedAt = performance.now();

  const beat = () => {
    count += 1;
    try {
      writeSync(file, String(count).padStart(12, '0'), 0);
    } catch {
      // A full disk: at worst the others take over, and a commit would fail here anyway.
    }
  };
  beat();

  return {
    ...me,
    beat,
    look: (others) => {
      // One look counts for one tick: who slept himself must not take all others for dead when he wakes.
      const passed = Math.min(performance.now() - lookedAt, 1.5 * tickMs);
      lookedAt = performance.now();
      const dead = new Set<string>();
      for (const other of others) {
        if (other.instance === me.instance) continue;
        if (other.pids === me.pids && isGone(other.pid)) {
          dead.add(other.instance);
          // Only then: one that merely sleeps goes on counting in its file.
          rmSync(path(other.instance), { force: true });
          continue;
        }
        const seen = silent.get(other.instance);
        const now = readCount(path(other.instance));
        const forMs = seen === undefined || seen.count !== now ? 0 : seen.forMs + passed;
        silent.set(other.instance, { count: now, forMs });
        if (forMs >= sessionTimeoutMs) dead.add(other.instance);
      }
      return dead;
    },
    forget: (instance) => void silent.delete(instance),
    close: () => {
      closeSync(file);
      rmSync(path(me.instance), { force: true });
    },
  };
}

function readCount(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** The same for two processes exactly if a PID means the same process to both. */
function pidNamespace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
