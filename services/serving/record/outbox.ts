import { hash, randomUUID } from 'node:crypto';
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
  /** Resolves when the fact is on disk. Throws when it cannot be written, or when there is no room for it. */
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
/** A fact that is put costs the listing of so many names, however many wait. */
const NAMES_PER_PUT = 100;
/** One access key may fill so large a part of the outbox. */
const PART_OF_KEY = 2;

/**
 * Facts on this machine's disk that the log could not take yet, one file each, in the order in which they
 * came. Replicas that share the folder share its facts: whoever reaches the log first hands them out.
 *
 * @param mostBytes that all facts may have together
 */
export async function openOutbox(folder: string, mostBytes = Number.POSITIVE_INFINITY): Promise<Outbox> {
  await mkdir(folder, { recursive: true }).catch(() => {}); // then `put` throws, and the answer says so
  const instance = randomUUID().slice(0, 8); // a process id may be the same in two containers
  const waiting = countWaiting();
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** since the folder was listed */
  let puts = 0;
  // ms of the latest name: names go up by it, also where the clock was set back or stands still
  let latest = 0;
  /** Seen in the folder and not handed out yet, the oldest one last. */
  let seen: string[] = [];
  const take = (found: readonly string[]): readonly string[] => {
    const names = found.filter((name) => name.endsWith(SUFFIX)).sort();
    waiting.set(names);
    latest = Math.max(latest, Number(names.at(-1)?.split('-')[0] ?? 0));
    return names;
  };
  const list = async () => {
    puts = 0;
    return take(await readdir(folder).catch(() => []));
  };
  const nextName = (tag: string, bytes: number) => {
    latest = Math.max(latest + 1, Date.now());
    return `${String(latest).padStart(15, '0')}-${instance}-${tag}-${bytes}${SUFFIX}`;
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
      const text = eventText(event);
      const bytes = Buffer.byteLength(text);
      const tag = tagOf(event);
      if (waiting.bytes() + bytes > mostBytes) throw new Error(`the outbox is full: ${mostBytes} bytes`);
      if (waiting.bytesOf(tag) + bytes > mostBytes / PART_OF_KEY)
        throw new Error(`an access key has filled its part of the outbox: ${mostBytes / PART_OF_KEY} bytes`);
      const name = nextName(tag, bytes);
      await mkdir(folder, { recursive: true });
      await writeDurably(join(folder, name), text);
      waiting.add(name);
      puts += 1;
      if (puts * NAMES_PER_PUT >= waiting.count()) await list(); // others may have put and drained
    },
    drain: async (append, onSetAside = () => undefined) => {
      if (seen.length === 0) seen = (await list()).toReversed();
      const turn = seen.length === 0 ? undefined : turns.take();
      if (turn === undefined) {
        seen = [];
        return 0;
      }
      let drained = 0;
      try {
        for (; seen.length > 0; seen = (await list()).toReversed())
          for (let name = seen.at(-1); name !== undefined; name = seen.at(-1)) {
            turn.showLife();
            await handOut(join(folder, name), append, onSetAside).catch((error: NodeJS.ErrnoException) => {
              if (error.code !== 'ENOENT') throw error; // another process was first
            });
            seen.pop();
            waiting.remove(name);
            drained += 1;
          }
      } finally {
        turn.release();
      }
      return drained;
    },
    look: () => {
      const now = monotonicNow();
      if (now - lookedAt < LOOK_INTERVAL_MS) return waiting.count();
      lookedAt = now;
      return take(entriesOf(folder)).length;
    },
    depth: waiting.count,
  };
}

/** The facts that wait, by name, and how many bytes they have: that stands in their names. */
function countWaiting() {
  const names = new Set<string>();
  const byTag = new Map<string, number>();
  let bytes = 0;
  const count = (name: string, sign: 1 | -1): void => {
    const [, , tag = '', size] = name.slice(0, -SUFFIX.length).split('-');
    const own = sign * (Number(size) || 0); // names of earlier programs tell none
    bytes += own;
    const ofTag = (byTag.get(tag) ?? 0) + own;
    if (ofTag === 0) byTag.delete(tag);
    else byTag.set(tag, ofTag);
  };
  const add = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    count(name, 1);
  };
  const remove = (name: string): void => {
    if (names.delete(name)) count(name, -1);
  };
  return {
    set: (found: readonly string[]): void => {
      const there = new Set(found);
      for (const name of names) if (!there.has(name)) remove(name);
      for (const name of found) add(name);
    },
    add,
    remove,
    count: (): number => names.size,
    bytes: (): number => bytes,
    bytesOf: (tag: string): number => byTag.get(tag) ?? 0,
  };
}

/** Names the access key of a fact, in the file's name. */
const tagOf = ({ data }: ClawLoopEvent): string =>
  hash('sha256', 'key' in data && typeof data.key === 'string' ? data.key : '').slice(0, 8);

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
