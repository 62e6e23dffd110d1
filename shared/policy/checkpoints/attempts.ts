import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isRunning } from '../../lang/is-running.ts';
import { parseJson } from '../../lang/json.ts';
import { entriesOf } from './folder-entries.ts';

/** Markers are in a folder next to the checkpoint's, which must not exist before the rename. */
export const attemptsSuffix = '.attempts';

/** Beside the markers. */
const notesName = 'notes';

/** ms without a beat after which an attempt on another machine counts as dead. */
const SILENT_MS = 60_000;

const Marker = z.object({ host: z.string(), pid: z.int(), error: z.string().optional() });
type Marker = z.output<typeof Marker>;
const self: Marker = { host: hostname(), pid: process.pid };

export type Attempt = {
  /** Signals that the attempt is alive; call it every few seconds. */
  readonly beat: () => Promise<void>;
  /** Removes the marker: the attempt succeeded or was cancelled. */
  readonly end: () => Promise<void>;
  /** Leaves the marker as a strike, with the error. */
  readonly fail: (error: string) => Promise<void>;
};

type Strikes = {
  readonly count: number;
  /** errors of the failed attempts; a killed process reports none */
  readonly errors: readonly string[];
};

/** The attempts at one step, each of which has a marker file. */
export type Attempts = {
  /** Marks durably that a step begins. A marker that remains after the process was killed is a strike. */
  begin(): Promise<Attempt>;
  /** The attempts that failed. An attempt that still runs in another process is not one. */
  strikes(): Promise<Strikes>;
  /** Keeps a line durably until `clear`: what an attempt leaves elsewhere, so that it can be removed there. */
  note(line: string): Promise<void>;
  /** All lines of all attempts, without duplicates. */
  notes(): Promise<readonly string[]>;
  /** Forgets the attempts and their notes: the batch is settled. */
  clear(): Promise<void>;
};

/** @param folder of the markers; need not exist */
export const openAttempts = (folder: string): Attempts => ({
  begin: () => begin(folder),
  async strikes() {
    const names = (await entriesOf(folder)).filter((name) => name !== notesName);
    const paths = names.map((file) => join(folder, file));
    const markers = await Promise.all(paths.map(readStrike));
    const strikes = markers.filter((marker) => marker !== undefined);
    return {
      count: strikes.length,
      errors: strikes.flatMap(({ error }) => (error === undefined ? [] : [error])),
    };
  },
  async note(line) {
    await mkdir(folder, { recursive: true });
    const file = await open(join(folder, notesName), 'a');
    try {
      await file.appendFile(`${line}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  },
  async notes() {
    if (!(await entriesOf(folder)).includes(notesName)) return [];
    const lines = (await readFile(join(folder, notesName), 'utf8')).split('\n');
    return [...new Set(lines.filter((line) => line !== ''))];
  },
  async clear() {
    await rm(folder, { recursive: true, force: true });
    for (const path of unremovedMarkers) if (path.startsWith(`${folder}/`)) unremovedMarkers.delete(path);
  },
});

async function begin(folder: string): Promise<Attempt> {
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
      await utimes(path, now, now).catch(() => {}); // missing: another trainer has settled the batch
    },
    end: () => endMarker(path),
    // missing: another trainer has settled the batch
    fail: (error) => writeFile(path, JSON.stringify({ ...self, error }), { flag: 'r+' }).catch(() => {}),
  };
}

/** Markers that could not be removed because the store was unavailable; removed when it is back. */
const unremovedMarkers = new Set<string>();

async function endMarker(path: string): Promise<void> {
  try {
    await rm(path);
    unremovedMarkers.delete(path);
  } catch {
    unremovedMarkers.add(path);
  }
}

async function readStrike(path: string): Promise<Partial<Marker> | undefined> {
  if (unremovedMarkers.has(path)) {
    await endMarker(path);
    return undefined;
  }
  try {
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const marker = parseMarker(text);
    return isDead(marker) || Date.now() - mtimeMs > SILENT_MS ? marker : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // it has just ended
    throw error;
  }
}

/**
 * A process runs one attempt at a time and reads the strikes before it begins: a marker with our own pid
 * belongs to an earlier process.
 */
const isDead = ({ host, pid, error }: Partial<Marker>): boolean =>
  error !== undefined || (host === self.host && pid !== undefined && (pid === self.pid || !isRunning(pid)));

/** Empty if the process died while writing. */
const parseMarker = (text: string): Partial<Marker> => Marker.safeParse(parseJson(text)).data ?? {};
