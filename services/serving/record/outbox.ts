import { mkdir, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { parseEvent } from '../../../shared/events/parse-event.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import { writeDurably } from '../../../shared/service/write-durably.ts';

export type Outbox = {
  /** Resolves when the fact is on disk. Throws when it cannot be written. */
  readonly put: (event: ClawLoopEvent) => Promise<void>;
  /**
   * Hands out what is kept, oldest first, and forgets each after `append` took it; stops where `append`
   * throws. What cannot be read, or no log will ever take, is set aside for a person to look at. A crash in
   * between hands a fact out twice, which every fold forgives.
   */
  readonly drain: (
    append: (event: ClawLoopEvent) => Promise<void>,
    onSetAside?: (path: string) => void,
  ) => Promise<number>;
  readonly depth: () => number;
};

const SUFFIX = '.json';
const BROKEN = '.broken';

/**
 * Facts on this machine's disk that the log could not take yet, one file each, in the order in which they
 * came.
 */
export async function openOutbox(folder: string): Promise<Outbox> {
  await mkdir(folder, { recursive: true }).catch(() => {}); // then `put` throws, and the answer says so
  const list = async () =>
    (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(SUFFIX)).sort();
  let depth = (await list()).length;
  // ms of the latest name: names go up by it, also where the clock was set back or stands still
  let latest = Number((await list()).at(-1)?.split('-')[0] ?? 0);
  const nextName = () => {
    latest = Math.max(latest + 1, Date.now());
    return `${String(latest).padStart(15, '0')}-${process.pid}${SUFFIX}`;
  };
  return {
    put: async (event) => {
      await mkdir(folder, { recursive: true });
      await writeDurably(join(folder, nextName()), JSON.stringify(event));
      depth += 1;
    },
    drain: async (append, onSetAside) => {
      let drained = 0;
      for (const name of await list()) {
        const path = join(folder, name);
        const parsed = parseEvent(await readFile(path, 'utf8'));
        const taken = parsed.kind === 'event' && (await isTaken(append, parsed.event));
        if (taken) await unlink(path);
        else {
          await rename(path, `${path}${BROKEN}`);
          onSetAside?.(`${path}${BROKEN}`);
        }
        depth -= 1;
        drained += 1;
      }
      return drained;
    },
    depth: () => depth,
  };
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
