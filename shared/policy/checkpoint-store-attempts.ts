import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { entriesOf } from './checkpoint-store.ts';

/** Markers stand beside the target folder, which must be free for the rename. */
export const attemptsSuffix = '.attempts';

/** ms without a sign of life after which an attempt on another machine counts as dead. */
const SILENT_MS = 60_000;

const Marker = z.object({ host: z.string(), pid: z.int(), error: z.string().optional() });
type Marker = z.output<typeof Marker>;
const self: Marker = { host: hostname(), pid: process.pid };

export type Attempt = {
  /** Says that the attempt lives; to be called every few seconds. */
  readonly beat: () => Promise<void>;
  /** Takes the marker away: the attempt ended, by itself or because it was told to. */
  readonly end: () => Promise<void>;
  /** Leaves the marker as a strike, with what went wrong. */
  readonly fail: (error: string) => Promise<void>;
};

export type Strikes = {
  readonly count: number;
  /** why, where an attempt could say so; a killed one cannot */
  readonly errors: readonly string[];
};

/**
 * Marks, durably, that a step for this checkpoint begins. What is left of it after the process was killed is
 * a strike.
 */
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
    end: () => endMarker(path),
    // settled by another
    fail: (error) => writeFile(path, JSON.stringify({ ...self, error }), { flag: 'r+' }).catch(() => {}),
  };
}

/** Markers of attempts that ended while their store was away: they are found again when it is back. */
const endedElsewhere = new Set<string>();

async function endMarker(path: string): Promise<void> {
  try {
    await rm(path);
    endedElsewhere.delete(path);
  } catch {
    endedElsewhere.add(path);
  }
}

/** The attempts at this checkpoint that died. One that still runs, in another process, is none of them. */
export async function readStrikes(store: string, name: string): Promise<Strikes> {
  const folder = join(store, name + attemptsSuffix);
  const paths = (await entriesOf(folder)).map((file) => join(folder, file));
  const markers = await Promise.all(paths.map(readStrike));
  const strikes = markers.filter((marker) => marker !== undefined);
  return {
    count: strikes.length,
    errors: strikes.flatMap(({ error }) => (error === undefined ? [] : [error])),
  };
}

/** Forgets the attempts: the batch is settled. */
export async function clearAttempts(store: string, name: string): Promise<void> {
  const folder = join(store, name + attemptsSuffix);
  await rm(folder, { recursive: true, force: true });
  for (const path of endedElsewhere) if (path.startsWith(`${folder}/`)) endedElsewhere.delete(path);
}

async function readStrike(path: string): Promise<Partial<Marker> | undefined> {
  if (endedElsewhere.has(path)) {
    await endMarker(path);
    return undefined;
  }
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const marker = parseMarker(text);
    return isDead(marker) || Date.now() - mtimeMs > SILENT_MS ? marker : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // it ended just now
    throw error;
  }
}

/**
 * A process runs one attempt at a time and looks before it begins: a marker of ours, or of our number, is of
 * an earlier one.
 */
const isDead = ({ host, pid, error }: Partial<Marker>): boolean =>
  error !== undefined || (host === self.host && pid !== undefined && (pid === self.pid || !isAlive(pid)));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Empty when the process died while it wrote. */
function parseMarker(text: string): Partial<Marker> {
  try {
    return Marker.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
