import { closeSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { pause } from '../../lang/async.ts';
import { isBusy, isDamage } from '../../log/sqlite/database.ts';

/** `at`: the packed place of the answer. `sum`: over the other columns. `heard`: NULL without a score, 1 for `isUnheard`, else 0. */
const schema = `
  CREATE TABLE state (name TEXT PRIMARY KEY, data TEXT NOT NULL, sum INTEGER NOT NULL) STRICT;
  CREATE TABLE turns (
    at INTEGER PRIMARY KEY, id TEXT NOT NULL, ms INTEGER NOT NULL, session TEXT NOT NULL, adapter TEXT NOT NULL,
    key TEXT NOT NULL, version INTEGER NOT NULL, live INTEGER NOT NULL, outcome TEXT NOT NULL, verdict INTEGER,
    heard INTEGER, differs INTEGER NOT NULL, data TEXT NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX turns_by_id ON turns (id);
  CREATE INDEX turns_by_session ON turns (session, ms);
  CREATE TABLE sessions (
    n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, started INTEGER NOT NULL, data TEXT NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
`;

/** What the file of one program has besides. */
export type IndexKind = {
  /** of its other tables and indexes */
  readonly schema: string;
  /**
   * False: a commit is on the disk when it returns. True, for a program that commits often: a write-ahead log, so a
   * power cut undoes the last commits, and leaves the file whole.
   */
  readonly isLogged: boolean;
};

/** KiB of pages in memory */
const CACHE_KIB = 32_768;
/** ms to wait for another process that reads the log into the file */
const WAIT_MS = 10_000;
const RETRY_MS = 20;

export type IndexFile = {
  readonly db: DatabaseSync;
  /** Runs `change` as one transaction. @throws when the file is no longer at its path */
  readonly commit: (change: () => void) => void;
  /** What is changed from now on is seen by queries, and never stored. */
  readonly freeze: () => void;
  readonly clear: () => void;
  /** Removes the file, so that the next process begins with a new one. */
  readonly discard: () => void;
  readonly close: () => void;
};

/** A row or the file is not what this program wrote. */
export const damagedIndex = (what: string): Error => Object.assign(new Error(what), { code: DAMAGED });
const DAMAGED = 'CLAWLOOP_DAMAGED_INDEX';

/** SQLITE_ERROR (tables of another form), SQLITE_CONSTRAINT (rows that should not be there), SQLITE_NOTADB */
const damages: readonly number[] = [1, 19, 26];

/** Also SQLITE_CORRUPT, or a wrong checksum. */
export const isDamagedIndex = (error: unknown): boolean =>
  isDamage(error) ||
  codeOf(error) === DAMAGED ||
  damages.includes(((error as { readonly errcode?: number } | null)?.errcode ?? 0) & 0xff);

/** The file cannot be used: it is damaged, the folder may not be written, the disk is full, or another process is too slow. */
export const isIndexFailure = (error: unknown): boolean =>
  isDamagedIndex(error) || ['ERR_SQLITE_ERROR', UNUSABLE].includes(codeOf(error));

const UNUSABLE = 'CLAWLOOP_UNUSABLE_INDEX';
const unusable = (cause: unknown): Error =>
  Object.assign(new Error('the index cannot be used', { cause }), { code: UNUSABLE });

const codeOf = (error: unknown): string => String((error as { readonly code?: unknown } | null)?.code);

/**
 * Opens the file, and creates it if missing. One process uses it at a time: others wait for it.
 * @throws an error for which `isIndexFailure` is true
 */
export async function openIndexFile(path: string, kind: IndexKind): Promise<IndexFile> {
  const waitUntil = performance.now() + WAIT_MS;
  for (;;) {
    const ino = inodeOf(path);
    const db = new DatabaseSync(path, { timeout: 0 });
    try {
      // A lock that stays until the file is closed. FULL is the default for `synchronous`: a commit outlives a power cut.
      db.exec(`PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -${CACHE_KIB}`);
      // also before the lock: a journal in exclusive mode needs no memory that processes share
      if (kind.isLogged) db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
      db.exec('BEGIN EXCLUSIVE; COMMIT');
      if (inodeOf(path) === ino) return opened(db, kind, { path, ino });
      db.close(); // another process replaced the file meanwhile
    } catch (error) {
      if (isDamagedIndex(error)) for (const end of ['', '-wal']) rmSync(path + end, { force: true });
      db.close();
      if (!isBusy(error) || performance.now() >= waitUntil) throw error;
      await pause(RETRY_MS);
    }
  }
}

/** For a log whose data folder cannot be written. */
export const openIndexInMemory = (kind: IndexKind): IndexFile =>
  opened(new DatabaseSync(':memory:'), kind, undefined);

/** Creates the file, but no folder above its own: a reader must not create a data folder. */
function inodeOf(path: string): number {
  try {
    mkdirSync(dirname(path), { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unusable(error);
  }
  try {
    closeSync(openSync(path, 'a', 0o600));
    return statSync(path).ino;
  } catch (error) {
    throw unusable(error);
  }
}

function opened(
  db: DatabaseSync,
  kind: IndexKind,
  file: { readonly path: string; readonly ino: number } | undefined,
): IndexFile {
  let isFrozen = false;
  const isInPlace = (): boolean =>
    file === undefined || statSync(file.path, { throwIfNoEntry: false })?.ino === file.ino;
  const commit = (change: () => void): void => {
    // Somebody deleted the folder: a journal at this path would be that of another file. A write-ahead log is open already.
    if (!kind.isLogged && !isInPlace()) throw unusable(undefined);
    if (isFrozen) {
      change();
      return;
    }
    db.exec('BEGIN');
    try {
      change();
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  };
  const clear = (): void =>
    commit(() => {
      const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
      for (const { name } of tables) db.exec(`DROP TABLE "${String(name)}"`);
      db.exec(schema + kind.schema);
    });
  return {
    db,
    commit,
    clear,
    freeze: () => {
      if (!isFrozen) db.exec('BEGIN');
      isFrozen = true;
    },
    discard: () => {
      if (file !== undefined)
        for (const end of ['', '-journal', '-wal']) rmSync(file.path + end, { force: true });
    },
    // closing removes the write-ahead log at the path, which may be that of another file by now
    close: () => (isInPlace() ? db.close() : undefined),
  };
}

/** A name as a column holds it. SQLite would change a text that is not Unicode, and cut it at a zero. */
export const columnText = (name: string): string =>
  name.isWellFormed() && !name.includes('\0') && !name.startsWith('"') ? name : JSON.stringify(name);
export const fromColumn = (text: unknown): string =>
  String(text).startsWith('"') ? JSON.parse(String(text)) : String(text);

type Stored = { readonly data?: unknown; readonly sum?: unknown };

/** A value as the file stores it. */
export function storedText(value: unknown): { readonly data: string; readonly sum: number } {
  const data = JSON.stringify(value);
  return { data, sum: crc32(data) };
}

/** A value that `storedText` made. @throws when it is damaged */
export function storedValue({ data, sum }: Stored): unknown {
  if (typeof data !== 'string' || crc32(data) !== sum) throw damagedIndex('a row has a wrong checksum');
  return JSON.parse(data);
}
