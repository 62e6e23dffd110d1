import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { eventText } from '../../../shared/events/event-text.ts';
import { parseEvent } from '../../../shared/events/parse-event.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';
import { writeDurably } from '../../../shared/service/write-durably.ts';
import { openTurns } from './drain-turns.ts';

export type Outbox = {
  /** Resolves when the fact is on disk. Throws when it cannot be written. */
  readonly put: (event: ClawLoopEvent) => Promise<void>;
  /**
   * Hands out what is kept, oldest first, and forgets each after `append` took it; stops where `append`
   * throws. What cannot be read, or no log will ever take, is set aside for a person to look at. A crash in
   * between hands a fact out twice, which every fold forgives. One process drains at a time; where that one
   * comes no further, another begins all the same: it comes to a fact only when those before it are in the
   * log.
   */
  readonly drain: (
    append: (event: ClawLoopEvent) => Promise<void>,
    onSetAside?: (path: string) => void,
  ) => Promise<number>;
  /** Counts what is kept, also by other processes: now, or a moment ago. */
  readonly look: () => number;
  /** As of the last look, and what this process has put and drained since. */
  readonly depth: () => number;
};

const SUFFIX = '.json';
const BROKEN = '.broken';
const LOCK = 'drain.lock';
/** ms in which no second look is taken: facts that come together need one. */
const LOOK_INTERVAL_MS = 10;

/**
 * Facts on this machine's disk that the log could not take yet, one file each, in the order in which they
 * came. Replicas that share the folder share its facts: whoever reaches the log first hands them out.
 */
export async function openOutbox(folder: string): Promise<Outbox> {
  await mkdir(folder, { recursive: true }).catch(() => {}); // then `put` throws, and the answer says so
  const instance = randomUUID().slice(0, 8); // a process id may be the same in two containers
  let depth = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  // ms of the latest name: names go up by it, also where the clock was set back or stands still
  let latest = 0;
  const take = (found: readonly string[]): readonly string[] => {
    const names = found.filter((name) => name.endsWith(SUFFIX)).sort();
    depth = names.length;
    latest = Math.max(latest, Number(names.at(-1)?.split('-')[0] ?? 0));
    return names;
  };
  const list = async () => take(await readdir(folder).catch(() => []));
  const nextName = () => {
    latest = Math.max(latest + 1, Date.now());
    return `${String(latest).padStart(15, '0')}-${instance}${SUFFIX}`;
  };
  const handOut = async (
    path: string,
    append: (event: ClawLoopEvent) => Promise<void>,
    onSetAside: (path: string) => void,
  ): Promise<void> => {
    const parsed = parseEvent(await readFile(path, 'utf8'));
    if (parsed.kind === 'event' && (await isTaken(append, parsed.event))) return unlink(path);
    await rename(path, `${path}${BROKEN}`);
    onSetAside(`${path}${BROKEN}`);
  };
  const turns = openTurns(join(folder, LOCK));
  await list();
  return {
    put: async (event) => {
      const path = join(folder, nextName());
      await mkdir(folder, { recursive: true });
      await writeDurably(path, eventText(event));
      await list(); // a drain may have counted it already
    },
    drain: async (append, onSetAside = () => undefined) => {
      const names = await list();
      const turn = names.length === 0 ? undefined : turns.take();
      if (turn === undefined) return 0;
      let drained = 0;
      try {
        for (const name of names) {
          turn.showLife();
          await handOut(join(folder, name), append, onSetAside).catch((error: NodeJS.ErrnoException) => {
            if (error.code !== 'ENOENT') throw error; // another process was first
          });
          depth = Math.max(0, depth - 1);
          drained += 1;
        }
      } finally {
        turn.release();
      }
      return drained;
    },
    look: () => {
      const now = monotonicNow();
      if (now - lookedAt < LOOK_INTERVAL_MS) return depth;
      lookedAt = now;
      return take(entriesOf(folder)).length;
    },
    depth: () => depth,
  };
}

/** An empty folder takes 10 µs; the way to another thread and back takes ten times that. */
function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** False: it is too large for any log, so it must not stand in the way of the others. */
async function isTaken(
  append: (event: ClawLoopEvent) => Promise<void>,
  event: ClawLoopEvent,
): Promise<boolean> {
  try {
    await append(event);
    return true;
  } catch (error) {
    if (isLogError(error, 'RecordTooLarge')) return false;
    throw error;
  }
}
