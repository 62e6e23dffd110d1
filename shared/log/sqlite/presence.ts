import { randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../lang/is-running.ts';

export type Instance = { readonly instance: string; readonly pid: number; readonly pids: string };

export type Presence = Instance & {
  /** Reports that this instance is alive. Called once per `tickMs`. */
  readonly beat: () => void;
  /** Checks the other instances, and returns the dead ones. Called once per `tickMs`. */
  readonly look: (others: readonly Instance[]) => ReadonlySet<string>;
  /** Restarts the watch of an instance. */
  readonly forget: (instance: string) => void;
  readonly close: () => void;
};

/**
 * Detects dead instances without comparing clocks: each open log counts up in a small file, and the others check
 * on their own monotonic clocks that the count changes. A file needs no transaction and no flush, unlike a row. A
 * process that no longer exists in our PID namespace is dead at once. A wrong result costs only a handover,
 * because every commit is fenced by its lease.
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
      // The disk is full: at worst other instances take over, and a commit here would fail anyway.
    }
  };
  beat();

  return {
    ...me,
    beat,
    look: (others) => {
      // A check counts for about one tick: an instance that was suspended must not declare all others dead.
      const passed = Math.min(performance.now() - lookedAt, 1.5 * tickMs);
      lookedAt = performance.now();
      const dead = new Set<string>();
      for (const other of others) {
        if (other.instance === me.instance) continue;
        if (other.pids === me.pids && !isRunning(other.pid)) {
          dead.add(other.instance);
          // Delete only here: an instance that was suspended continues to count in its file.
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

/** Equal for two processes if and only if a PID means the same process to both. */
function pidNamespace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
