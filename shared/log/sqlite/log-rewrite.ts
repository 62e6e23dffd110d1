import { DatabaseSync } from 'node:sqlite';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import { type ChainedRecord, type ChainHead, linkAfter } from '../chain.ts';
import { logError } from '../errors.ts';
import type { PlacedGroup, PlacedRecord, PlacedRow, Rewriting, RewrittenChain } from '../log-contents.ts';
import { FIRST_ROWS } from '../row-versions.ts';
import { beginAt } from '../verify-chain.ts';
import { damagedFile, isBusy, isDamage, type LogDatabase, openReadOnly, sqliteFileIn } from './database.ts';
import { packedBody } from './packing.ts';
import { recordOf } from './record-of.ts';
import { openRecords } from './records.ts';
import {
  allRecords,
  type Place,
  placed,
  placesOf,
  type Stored,
  storedRecords,
  toldTrims,
} from './stored-records.ts';
import { openTrims } from './trims.ts';

/** The embedded log, read without waiting. */
export type SqliteContents = {
  readonly records: () => Iterable<PlacedRecord>;
  readonly rows: () => Iterable<PlacedRow>;
  readonly groups: () => readonly PlacedGroup[];
  readonly close: () => void;
};

export type LogRewriter = SqliteContents & {
  /**
   * Changes bodies and rows in one transaction, and computes the chains again. Nothing is appended if nothing changes.
   * @throws LogRefused when a chain does not fit its records, so that no rewriting covers up what changed before
   */
  readonly rewrite: (rewriting: Rewriting) => ClawLoopEvent | undefined;
  /** Writes the whole file anew, so that no free page and no write-ahead file keeps old bytes. */
  readonly compact: () => void;
};

/** Reads the log beside running services. @throws NewerSchema, LogMismatch, LogRefused, LogUnavailable */
export const readContents = (folder: string): SqliteContents => {
  const file = sqliteFileIn(folder);
  return contentsOf(openReadOnly(file), file);
};

/** Undefined: another process has the log open. @throws as `readContents` */
export function openForRewriting(folder: string): LogRewriter | undefined {
  const file = sqliteFileIn(folder);
  const { db: reader, ...about } = openReadOnly(file);
  reader.close();
  const db = new DatabaseSync(file, { timeout: 2_000 });
  try {
    // In this mode, SQLite shares the file with no other connection, not even with a reader.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    db.exec('PRAGMA secure_delete = ON; BEGIN EXCLUSIVE; COMMIT');
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw isDamage(error) ? damagedFile(error, file) : error;
  }
  const database = { ...about, db };
  return {
    ...contentsOf(database, file),
    rewrite: (rewriting) => rewriteAll(database, file, rewriting),
    compact: () => {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      db.exec('VACUUM');
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    },
  };
}

function contentsOf(database: LogDatabase, file: string): SqliteContents {
  const { db } = database;
  return {
    records: () => allRecords(database, file),
    rows: function* () {
      for (const { grp, subject, key, row } of rowsOf(db))
        yield { group: grp as string, subject: subject as string, key: key as string, row: row as string };
    },
    groups: () => {
      const versions = readRowVersions(db);
      return db
        .prepare(`SELECT subscription, s.grp AS grp, t.name AS topic, partition, position FROM shares
          JOIN subscriptions s ON s.id = subscription JOIN topics t ON t.id = s.topic`)
        .all()
        .map(({ subscription, grp, topic, partition, position }) => ({
          rowsVersion: versions.get(`${subscription}/${partition}`) ?? FIRST_ROWS,
          group: grp as string,
          topic: topic as Topic,
          partition: partition as number,
          position: position as number,
        }));
    },
    close: () => void (db.isOpen && db.close()),
  };
}

/** A file that no service of this version has opened lacks the table. */
function readRowVersions(db: DatabaseSync): ReadonlyMap<string, number> {
  const table = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'row_versions'").get();
  const all = table === undefined ? [] : db.prepare('SELECT * FROM row_versions').all();
  return new Map(
    all.map(({ subscription, partition, version }) => [`${subscription}/${partition}`, version as number]),
  );
}

const rowsOf = (db: DatabaseSync): Iterable<Readonly<Record<string, unknown>>> =>
  db
    .prepare(`SELECT s.grp AS grp, subscription, partition, subject, key, row FROM rows
      JOIN subscriptions s ON s.id = subscription`)
    .iterate();

function rewriteAll(database: LogDatabase, file: string, rewriting: Rewriting): ClawLoopEvent | undefined {
  const { db, partitions } = database;
  const trims = openTrims(database);
  const records = openRecords(database, trims);
  db.exec('BEGIN EXCLUSIVE');
  try {
    const told = toldTrims(database, file);
    const chains = placesOf(database).flatMap((place) => {
      const start = trims.startOf(place.topic, place.partition);
      // what a trim has put out of reach may still be in the file
      while (trims.remove(place.topic, place.partition) > 0);
      return rewriteRun(database, { ...place, start }, file, { rewriting, told }) ?? [];
    });
    const rows = rewriteRows(db, rewriting);
    const hasChanged = chains.length > 0 || rows > 0;
    const fact = hasChanged ? rewriting.fact({ chains, rows }) : undefined;
    if (fact !== undefined) {
      const record = recordOf(fact, partitions);
      records.begin();
      records.append([{ ...record, body: packedBody(record.body) }]);
      records.seal();
    }
    db.exec('COMMIT');
    return fact;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

type Rewrite = { readonly rewriting: Rewriting; readonly told: readonly ChainHead[] };

/** Rewrites one partition. Undefined: nothing in it changes. */
function rewriteRun(
  { db }: LogDatabase,
  place: Place & { readonly start: number },
  file: string,
  { rewriting: { record }, told }: Rewrite,
): RewrittenChain | undefined {
  const putBody = db.prepare('UPDATE records SET body = ? WHERE k = ?');
  const putLink = db.prepare('UPDATE records SET link = ? WHERE k = ?');
  const run = db.prepare('SELECT next, since, link FROM runs WHERE run = ?').get(place.run)!;
  const since = run.since as number;
  const { topic, partition } = place;
  const changed: number[] = [];
  const begin = beginAt({ topic, partition, from: since }, place.start, told);
  if (begin === undefined) throw brokenChain(place, place.start);
  let [before, after] = [begin.link, begin.link];
  let together: { readonly was: Stored; readonly is: ChainedRecord }[] = [];
  for (const was of storedRecords(db, place.run)) {
    const body = record(placed(was, place, file));
    const is = body === undefined ? was : { ...was, body: packedBody(body) };
    if (body !== undefined) {
      putBody.run(is.body, was.k);
      changed.push(was.offset);
    }
    if (was.offset < since) continue; // of a version without chains
    together.push({ was, is });
    if (was.link === null) continue;
    before = linkAfter(
      before,
      together.map((one) => one.was),
    );
    if (before !== was.link) throw brokenChain(place, was.offset);
    after = linkAfter(
      after,
      together.map((one) => one.is),
    );
    if (after !== was.link) putLink.run(after, was.k);
    together = [];
  }
  if (together.length > 0 || before !== run.link) throw brokenChain(place, run.next as number);
  if (changed.length === 0) return undefined;
  db.prepare('UPDATE runs SET link = ? WHERE run = ?').run(after, place.run);
  return {
    topic,
    partition,
    first: changed[0]!,
    to: run.next as number,
    records: changed.length,
    before,
    after,
  };
}

const brokenChain = ({ topic, partition }: Place, offset: number): Error =>
  logError(
    'LogRefused',
    `the records of ${topic}/${partition} up to ${offset} are not those that were appended, and rewriting them would ` +
      'hide that: see clawloop audit',
  );

function rewriteRows(db: DatabaseSync, { row: rewritten }: Rewriting): number {
  const put = db.prepare(
    'UPDATE rows SET row = ? WHERE subscription = ? AND partition = ? AND subject = ? AND key = ?',
  );
  const drop = db.prepare(
    'DELETE FROM rows WHERE subscription = ? AND partition = ? AND subject = ? AND key = ?',
  );
  const changes: (() => void)[] = [];
  for (const { grp, subscription, partition, subject, key, row } of rowsOf(db)) {
    const placedRow = { group: grp, subject, key, row } as PlacedRow;
    const next = rewritten(placedRow);
    const at = [subscription as number, partition as number, placedRow.subject, placedRow.key] as const;
    if (next === null) changes.push(() => drop.run(...at));
    else if (next !== undefined) changes.push(() => put.run(next, ...at));
  }
  for (const change of changes) change();
  return changes.length;
}
