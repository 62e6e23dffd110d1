import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { entriesOf } from './checkpoint-store.ts';

/** Markers stand beside the target folder, which must be free for the rename. */
export const attemptsSuffix = '.attempts';

/** ms without a sign of life after which an attempt on another machine counts as dead. */
const SILENT_MS = 60_000;

const Marker = z.object({ host: z.string(), pid: z.int(), process: z.string() });
const self: z.output<typeof Marker> = { host: hostname(), pid: process.pid, process: randomUUID() };

export type Attempt = {
  /** Says that the attempt lives; to be called every few seconds. */
  readonly beat: () => Promise<void>;
  /** Takes the marker away: the attempt ended, by itself or because it was told to. */
  readonly end: () => Promise<void>;
};

/** Marks, durably, that a step for this checkpoint begins. What is left of it after the process was killed is a strike. */
export async function beginAttempt(store: string, name: string): Promise<Attempt> {
  const folder = join(store, name + attemptsSuffix);
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${self.pid}-${randomUUID()}`);
  const file = await open(path, 'wx');
  try {
    await file.writeFile(JSON.stringify(self));
    await file.sync();
  } finally {
    await file.close();
  }
  return {
    beat: async () => {
      const now = new Date();
      await utimes(path, now, now).catch(() => {}); // gone: another trainer has settled the batch
    },
    end: () => rm(path, { force: true }),
  };
}

/** How many attempts at this checkpoint died. One that still runs, in another process, is none. */
export async function countStrikes(store: string, name: string): Promise<number> {
  const folder = join(store, name + attemptsSuffix);
  const dead = await Promise.all((await entriesOf(folder)).map((file) => isDead(join(folder, file))));
  return dead.filter(Boolean).length;
}

/** Forgets the attempts: the batch is settled. */
export const clearAttempts = (store: string, name: string): Promise<void> =>
  rm(join(store, name + attemptsSuffix), { recursive: true, force: true });

async function isDead(path: string): Promise<boolean> {
  let text: string;
  let modified: number;
  try {
    [text, { mtimeMs: modified }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
  } catch {
    return false; // it ended just now
  }
  const marker = Marker.safeParse(parseJson(text));
  if (marker.success && marker.data.host === self.host) {
    // A process runs one attempt at a time and ends its marker: one of ours is left of a failure, one with our process id of a
    // process before us (in containers they are all number 1).
    if (marker.data.pid === self.pid || !isAlive(marker.data.pid)) return true;
  }
  return Date.now() - modified > SILENT_MS;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
