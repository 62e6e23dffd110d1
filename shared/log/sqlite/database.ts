import { randomUUID } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { topics } from '../../events/define-event.ts';
import { emptyChain } from '../chain.ts';
import { logError } from '../errors.ts';

/** 2: offsets are counted in `runs`, and records are chained. */
const schemaVersion = 2;
/** The version of a file whose first records were trimmed: earlier programs would take these for lost. */
export const trimmedVersion = 3;
/** The version of a file with rows above version 1: earlier programs would read them as if they were of version 1. */
export const migratedVersion = 4;
const defaultPartitions = 3;
const maxPartitions = 256;
/** per partition: a record's key has 40 bits for its offset */
export const maxOffsets = 2 ** 40;

/**
 * A record's key is (topic * 256 + partition) * 2^40 + offset: one B-tree in which every partition is a dense
 * run. As INTEGER PRIMARY KEY the row lies in the leaf; a composite key WITHOUT ROWID spills 1 KB bodies into
 * overflow pages (3 times the space).
 */
const schema = `
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS topics (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS records (
    k INTEGER PRIMARY KEY, time INTEGER NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL,
    body ANY NOT NULL, -- TEXT as it is, BLOB compressed with zstd
    link TEXT -- of the last record of an append in its partition: the chain's link after it
  ) STRICT;
  CREATE TABLE IF NOT EXISTS runs (
    run INTEGER PRIMARY KEY, -- topic * 256 + partition
    next INTEGER NOT NULL, -- offset of the next record; never one that a record has had
    since INTEGER NOT NULL, -- first offset that the chain covers
    link TEXT NOT NULL -- the last one
  ) STRICT;
  CREATE TABLE IF NOT EXISTS trims (
    run INTEGER PRIMARY KEY,
    start INTEGER NOT NULL -- first kept offset; rows before it wait for their removal
  ) STRICT;
  CREATE TABLE IF NOT EXISTS subscriptions (
    id INTEGER PRIMARY KEY, grp TEXT NOT NULL, topic INTEGER NOT NULL REFERENCES topics, UNIQUE (grp, topic)
  ) STRICT;
  CREATE TABLE IF NOT EXISTS members (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, member TEXT NOT NULL UNIQUE, subscription INTEGER NOT NULL,
    instance TEXT NOT NULL, pid INTEGER NOT NULL, pids TEXT NOT NULL -- the PID namespace that pid is of
  ) STRICT;
  CREATE TABLE IF NOT EXISTS shares (
    subscription INTEGER NOT NULL, partition INTEGER NOT NULL, owner TEXT, generation INTEGER NOT NULL,
    position INTEGER NOT NULL, stopped TEXT, PRIMARY KEY (subscription, partition)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS rows (
    subscription INTEGER NOT NULL, partition INTEGER NOT NULL,
    subject TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL,
    PRIMARY KEY (subscription, partition, subject, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS stretches (
    subscription INTEGER NOT NULL, partition INTEGER NOT NULL, start INTEGER NOT NULL, settings TEXT NOT NULL,
    PRIMARY KEY (subscription, partition, start)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS row_versions ( -- of partitions whose rows are above version 1
    subscription INTEGER NOT NULL, partition INTEGER NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (subscription, partition)
  ) STRICT, WITHOUT ROWID;
`;

/** Raises the version of a file, so that earlier programs refuse it. Call inside a transaction. */
export function raiseVersion(db: DatabaseSync, version: number): void {
  db.prepare(`UPDATE meta SET value = ? WHERE name = 'schemaVersion' AND CAST(value AS INTEGER) < ?`).run(
    String(version),
    version,
  );
}

/** The file of the log in its folder. */
export const sqliteFileIn = (folder: string): string => join(folder, 'log.sqlite');

export type LogDatabase = {
  readonly db: DatabaseSync;
  readonly logId: string;
  readonly partitions: number;
  readonly topicIds: ReadonlyMap<string, number>;
};

/** Opens the file, and creates the log if missing. Several processes may do so at the same time. */
export function openDatabase(file: string, askedPartitions: number | undefined): LogDatabase {
  mayBeWritten(file);
  const db = new DatabaseSync(file, { timeout: 10_000 });
  try {
    // FULL: a commit is on the disk, not only in the system's cache, before it returns. An answer that was
    // reported as recorded and a checkpoint that was renamed into place then outlive a power cut too; group
    // commit spreads the cost of the flush.
    // Lets a new file shrink after a trim; it has no effect on a file that has tables.
    db.exec('PRAGMA auto_vacuum = INCREMENTAL');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864');
    db.exec('BEGIN IMMEDIATE');
    db.exec(schema);
    const meta = new Map(
      db
        .prepare('SELECT name, value FROM meta')
        .all()
        .map((row) => [row.name, row.value]),
    );
    const version = Number(meta.get('schemaVersion') ?? schemaVersion);
    refuseNewer(file, version);
    const logId = String(meta.get('logId') ?? randomUUID());
    const partitions = Number(meta.get('partitions') ?? askedPartitions ?? defaultPartitions);
    if (!Number.isInteger(partitions) || partitions < 1 || partitions > maxPartitions) {
      throw logError('LogMismatch', `a log has 1 to ${maxPartitions} partitions, not ${partitions}`);
    }
    if (askedPartitions !== undefined && askedPartitions !== partitions) {
      throw logError(
        'LogMismatch',
        `${file} was created with ${partitions} partitions, which cannot change; ${askedPartitions} were configured: set --partitions ${partitions}`,
      );
    }
    addLinks(db);
    const put = db.prepare('INSERT OR REPLACE INTO meta VALUES (?, ?)');
    const values = { schemaVersion: Math.max(schemaVersion, version), logId, partitions };
    for (const [name, value] of Object.entries(values)) put.run(name, String(value));
    for (const topic of topics) db.prepare('INSERT OR IGNORE INTO topics (name) VALUES (?)').run(topic);
    const topicIds = new Map(
      db
        .prepare('SELECT id, name FROM topics')
        .all()
        .map((row) => [String(row.name), Number(row.id)] as const),
    );
    for (const topic of topicIds.values())
      for (let partition = 0; partition < partitions; partition += 1) addRun(db, topic, partition);
    db.exec('COMMIT');
    // From here on, waiting for a lock does not block the thread (write-queue.ts).
    db.exec('PRAGMA busy_timeout = 0');
    return { db, logId, partitions, topicIds };
  } catch (error) {
    db.close();
    if (isNoDatabase(error)) throw noLog(file, error);
    throw error;
  }
}

/**
 * Opens an existing file without changing it.
 * @throws NewerSchema, LogMismatch, LogRefused, LogUnavailable
 */
export function openReadOnly(file: string): LogDatabase {
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 10_000 });
    const read = (sql: string) => db!.prepare(sql).all();
    const meta = new Map(read('SELECT name, value FROM meta').map(({ name, value }) => [name, value]));
    const version = Number(meta.get('schemaVersion'));
    refuseNewer(file, version);
    const topicIds = new Map(
      read('SELECT id, name FROM topics').map(({ id, name }) => [String(name), Number(id)] as const),
    );
    const hasTrims = read("SELECT 1 FROM sqlite_master WHERE name = 'trims'").length > 0;
    if (version < schemaVersion || !hasTrims || !topics.every((topic) => topicIds.has(topic)))
      throw logError(
        'LogMismatch',
        `${file} is of an earlier version: start this version of ClawLoop on it once, which updates it`,
      );
    return { db, logId: String(meta.get('logId')), partitions: Number(meta.get('partitions')), topicIds };
  } catch (error) {
    db?.close();
    if (isNoDatabase(error)) throw noLog(file, error);
    if (isDamage(error)) throw damagedFile(error, file);
    throw isPassing(error) ? cannotBeOpened(error, file) : error;
  }
}

function refuseNewer(file: string, version: number): void {
  if (version > migratedVersion)
    throw logError(
      'NewerSchema',
      `${file} has schema ${version}; this version of ClawLoop knows up to ${migratedVersion}: update it`,
    );
}

const noLog = (file: string, cause: unknown): Error =>
  logError('LogRefused', `${file} is not a ClawLoop log: move it away, or give another --data-folder`, cause);

/** Files of schema 1 lack the column. */
function addLinks(db: DatabaseSync): void {
  const columns = db.prepare('PRAGMA table_info(records)').all();
  if (!columns.some(({ name }) => name === 'link')) db.exec('ALTER TABLE records ADD COLUMN link TEXT');
}

/** In a file of schema 1 the chain begins at the next record, and no group has read beyond it. */
function addRun(db: DatabaseSync, topic: number, partition: number): void {
  const run = topic * 256 + partition;
  if (db.prepare('SELECT 1 FROM runs WHERE run = ?').get(run) !== undefined) return;
  const last = db
    .prepare('SELECT max(k) AS k FROM records WHERE k >= ? AND k < ?')
    .get(run * maxOffsets, (run + 1) * maxOffsets)?.k;
  const read = db
    .prepare(`SELECT max(position) AS position FROM shares JOIN subscriptions s ON s.id = subscription
      WHERE s.topic = ? AND partition = ?`)
    .get(topic, partition)?.position;
  const next = Math.max(last === null ? 0 : (Number(last) % maxOffsets) + 1, Number(read ?? 0));
  db.prepare('INSERT INTO runs (run, next, since, link) VALUES (?, ?, ?, ?)').run(
    run,
    next,
    next,
    emptyChain,
  );
}

/** SQLite reports the same error for a missing permission and a full disk. */
function mayBeWritten(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT')
      throw logError(
        'LogRefused',
        `cannot open the log: ${message}; check the owner and mode of the file`,
        error,
      );
  }
}

/** SQLITE_NOTADB */
const isNoDatabase = (error: unknown): boolean => (error as { errcode?: unknown } | null)?.errcode === 26;

/** Another connection has the lock. SQLITE_BUSY is 5; extended codes have it in the low byte. */
export function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' && (code & 0xff) === 5;
}

/** SQLITE_CORRUPT: a page of the file is damaged. */
export function isDamage(error: unknown): error is Error {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' && (code & 0xff) === 11;
}

/**
 * SQLITE_BUSY, LOCKED, IOERR, FULL, CANTOPEN: permissions and the file's format were checked before.
 */
const passingCodes: ReadonlySet<unknown> = new Set([5, 6, 10, 13, 14]);

/** The disk is full, or a suspended process holds the lock: a retry may succeed. */
export function isPassing(error: unknown): error is Error {
  const { errcode, code } = (error ?? {}) as { readonly errcode?: unknown; readonly code?: unknown };
  return (typeof errcode === 'number' && passingCodes.has(errcode & 0xff)) || code === 'ENOSPC';
}

export const cannotBeOpened = (error: Error, file: string): Error =>
  logError('LogUnavailable', `cannot open ${file}: ${error.message}`, error);

/** Waiting does not repair a file. */
export const damagedFile = (error: Error, file: string): Error =>
  logError(
    'LogRefused',
    `${file} is damaged (${error.message}): keep it for inspection, and restore the data folder from a backup`,
    error,
  );
