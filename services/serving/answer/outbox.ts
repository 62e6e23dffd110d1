import { hash, randomUUID } from 'node:crypto';
import { readdirSync, statSync, utimesSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { eventText } from '../../../shared/events/event-text.ts';
import { parseEvent } from '../../../shared/events/parse-event.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { claimFile } from '../../../shared/runtime/claim.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';

export type Outbox = {
  /** Resolves when the event is on disk. Throws if it cannot be written, or if the outbox is full. */
  readonly put: (event: ClawLoopEvent) => Promise<void>;
  /**
   * Passes the events to `append`, oldest first, and deletes each after it succeeds; stops when `append` throws.
   * Events that are unreadable, or too large for any log, are set aside for an operator. A crash may append an event
   * twice, which every fold tolerates. One process drains at a time; if it gets stuck, another one starts to drain.
   * In both cases an event is appended only after the earlier ones.
   */
  readonly drain: (
    append: (event: ClawLoopEvent) => Promise<void>,
    onSetAside?: (path: string) => void,
  ) => Promise<number>;
  /** Number of events in the folder, including those of other processes; at most 10 ms old. */
  readonly look: () => number;
  /** Number of events at the last look, updated by this process since then. */
  readonly depth: () => number;
  /** From 0 to 1: how much of the outbox, or of the part of an access key, is full. At 1, `put` refuses events. */
  readonly fullness: () => number;
};

const SUFFIX = '.json';
export const BROKEN = '.broken';
const LOCK = 'drain.lock';
/** ms between two looks: concurrent events share one. */
const LOOK_INTERVAL_MS = 10;
/** The folder is listed again after 1 put for every 100 waiting events, so a put costs at most 100 listed names. */
const NAMES_PER_PUT = 100;
/** One access key may fill at most 1/2 of the outbox. */
const PART_OF_KEY = 2;

/**
 * Events on this machine's disk that the log could not store yet, one file each, in order. Replicas that share the
 * folder share its events: the first replica that reaches the log appends them.
 *
 * @param mostBytes limit of all events together
 */
export async function openOutbox(folder: string, mostBytes = Number.POSITIVE_INFINITY): Promise<Outbox> {
  await mkdir(folder, { recursive: true }).catch(() => {}); // then `put` throws, and the answer reports it
  const instance = randomUUID().slice(0, 8); // a process id may be the same in two containers
  const waiting = countWaiting();
  let lookedAt = Number.NEGATIVE_INFINITY;
  /** since the last listing of the folder */
  let puts = 0;
  // ms of the latest name: names increase even if the clock does not
  let latest = 0;
  /** Names found in the folder and not appended yet, the oldest last. */
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
  const lock = openDrainLock(join(folder, LOCK));
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
      if (puts * NAMES_PER_PUT >= waiting.count()) await list(); // other processes may have added and drained events
    },
    drain: async (append, onSetAside = () => undefined) => {
      if (seen.length === 0) seen = (await list()).toReversed();
      const locked = seen.length === 0 ? undefined : lock.take();
      if (locked === undefined) {
        seen = [];
        return 0;
      }
      let drained = 0;
      try {
        for (; seen.length > 0; seen = (await list()).toReversed())
          for (let name = seen.at(-1); name !== undefined; name = seen.at(-1)) {
            locked.heartbeat();
            await appendFile(join(folder, name), append, onSetAside).catch((error: NodeJS.ErrnoException) => {
              if (error.code !== 'ENOENT') throw error; // another process appended it
            });
            seen.pop();
            waiting.remove(name);
            drained += 1;
          }
      } finally {
        locked.release();
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
    fullness: () =>
      Math.max(waiting.bytes() / mostBytes, waiting.mostBytesOfTag() / (mostBytes / PART_OF_KEY)),
  };
}

/** Appends the event of a file and deletes the file, or sets it aside. */
async function appendFile(
  path: string,
  append: (event: ClawLoopEvent) => Promise<void>,
  onSetAside: (path: string) => void,
): Promise<void> {
  const parsed = parseEvent(await readFile(path, 'utf8'));
  if (parsed.kind === 'event' && (await isAppended(append, parsed.event))) return unlink(path);
  await rename(path, `${path}${BROKEN}`);
  onSetAside(`${path}${BROKEN}`);
}

/** The names of waiting events, and their bytes, which are part of the names. */
function countWaiting() {
  const names = new Set<string>();
  const byTag = new Map<string, number>();
  let bytes = 0;
  const count = (name: string, sign: 1 | -1): void => {
    const [, , tag = '', size] = name.slice(0, -SUFFIX.length).split('-');
    const change = sign * (Number(size) || 0); // file names of earlier versions have no size
    bytes += change;
    const ofTag = (byTag.get(tag) ?? 0) + change;
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
    set: (current: readonly string[]): void => {
      const present = new Set(current);
      for (const name of names) if (!present.has(name)) remove(name);
      for (const name of current) add(name);
    },
    add,
    remove,
    count: (): number => names.size,
    bytes: (): number => bytes,
    bytesOf: (tag: string): number => byTag.get(tag) ?? 0,
    mostBytesOfTag: (): number => [...byTag.values()].reduce((most, size) => Math.max(most, size), 0),
  };
}

/** The part of a file name that identifies the access key. */
const tagOf = ({ data }: ClawLoopEvent): string =>
  hash('sha256', 'key' in data && typeof data.key === 'string' ? data.key : '').slice(0, 8);

/** Synchronous: an empty folder takes 10 µs, an asynchronous call ten times that. */
function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** False: the event is too large for any log, so it must not block the others. */
async function isAppended(
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

type DrainLock = {
  /** Call this for every event: other processes watch for it. */
  readonly heartbeat: () => void;
  readonly release: () => void;
};

/** ms without a heartbeat until the draining process counts as stuck */
const STUCK_MS = 10_000;

/**
 * A lock for draining an outbox that replicas share. If two processes drain at the same time, the log only gets
 * duplicates. So a process that is stopped while it has the lock (SIGSTOP), or a disk too full for a lock file, does
 * not block other processes.
 */
function openDrainLock(lock: string): { readonly take: () => DrainLock | undefined } {
  let watched: { readonly beat: number; readonly since: number } | undefined;
  const heartbeat = (): void => {
    const now = new Date();
    tried(() => utimesSync(lock, now, now));
  };
  /** Changes while the owner of the lock is alive. Compared with earlier values, not with a clock. */
  const lastHeartbeat = (): number => tried(() => statSync(lock).mtimeMs) ?? 0;
  return {
    /** undefined: another process drains. */
    take: () => {
      const claimed = tried(() => ({ claim: claimFile(lock) })) ?? 'no lock';
      if (claimed === 'no lock') return { heartbeat, release: () => undefined };
      const { claim } = claimed;
      if (claim !== undefined) return { heartbeat, release: claim.release };
      const beat = lastHeartbeat();
      if (watched?.beat !== beat) watched = { beat, since: monotonicNow() };
      const isStuck = monotonicNow() - watched.since >= STUCK_MS;
      return isStuck ? { heartbeat: () => undefined, release: () => undefined } : undefined;
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
