import type { Topic } from '../../events/define-event.ts';
import { defined } from '../../lang/defined.ts';
import type { GroupLag, SettingsStretch } from '../event-log.ts';
import { FIRST_ROWS } from '../row-versions.ts';
import { type LogDatabase, migratedVersion, raiseVersion } from './database.ts';
import type { PackedRecord } from './packing.ts';
import type { Commit, Lease, LoadedPartition, StoredPartition, StoredRow } from './protocol.ts';
import type { Records } from './records.ts';
import type { Steps } from './write-queue.ts';

/** Rows of one answer: a partition may have millions, which would all be in memory several times. */
const ROWS = 5_000;

export type Groups = ReturnType<typeof openGroups>;

/** Rows, position and settings of each group's partitions. */
export function openGroups({ db, partitions }: LogDatabase, records: Records, onStep: Steps) {
  const statements = prepareStatements(db);

  return {
    load: ({ subscription, partition, member, generation }: Lease): LoadedPartition | null => {
      const leased = statements.share.get(subscription, partition, member, generation);
      if (leased === undefined) return null;
      return {
        position: leased.position as number,
        rowsVersion:
          (statements.version.get(subscription, partition)?.version as number | undefined) ?? FIRST_ROWS,
        settings:
          (statements.lastStretch.get(subscription, partition)?.settings as string | undefined) ?? null,
      };
    },

    rows: (
      { subscription, partition, member, generation }: Lease,
      [subject, key]: readonly [string, string],
    ): StoredRow[] | null => {
      if (statements.share.get(subscription, partition, member, generation) === undefined) return null;
      return statements.rowsAfter
        .all(subscription, partition, subject, key, ROWS)
        .map((row) => [row.subject as string, row.key as string, row.row as string] as const);
    },

    /** Call inside a transaction. Checks the lease and the position before it writes. */
    commit: (commit: Commit, packed: readonly PackedRecord[]): boolean => {
      const { subscription, partition, member, generation } = commit.lease;
      const fenced = statements.advance.run(
        commit.to,
        commit.stopped,
        subscription,
        partition,
        member,
        generation,
        commit.from,
      );
      if (fenced.changes !== 1) return false;
      onStep('fenced');
      for (const [subject, key, row] of commit.changes) {
        if (row === null) statements.dropRow.run(subscription, partition, subject, key);
        else statements.putRow.run(subscription, partition, subject, key, row);
      }
      onStep('rows');
      if (commit.settings !== null)
        statements.putStretch.run(subscription, partition, commit.from, commit.settings);
      if (commit.rowsVersion !== null) {
        statements.putVersion.run(subscription, partition, commit.rowsVersion);
        raiseVersion(db, migratedVersion);
      }
      records.append(packed);
      onStep('records');
      return true;
    },

    lag: (group: string): GroupLag[] => lagOf(statements.sharesOf.all(group), records),

    stretches: (group: string): SettingsStretch[] =>
      statements.stretchesOf.all(group).map(({ topic, partition, start, settings }) => ({
        topic: topic as Topic,
        partition: partition as number,
        from: start as number,
        settings: JSON.parse(settings as string),
      })),

    committed: (group: string): StoredPartition[] =>
      [
        ...Map.groupBy(
          statements.committedOf.all(group),
          ({ topic, partition }) => `${topic}/${partition}`,
        ).values(),
      ].map((rows) => ({
        topic: rows[0]!.topic as Topic,
        partition: rows[0]!.partition as number,
        position: rows[0]!.position as number,
        rowsVersion: (rows[0]!.version as number | null) ?? FIRST_ROWS,
        rows: rows
          .filter(({ key }) => key !== null)
          .map(({ subject, key, row }) => [subject as string, key as string, row as string] as const),
      })),

    partitions,
  };
}

/** Prepared once: preparing a statement costs more than running it. */
function prepareStatements(db: LogDatabase['db']) {
  return {
    // The fence: matches only while the lease is valid and the position is where the fold started.
    advance: db.prepare(`UPDATE shares SET position = ?, stopped = ?
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ? AND position = ?`),
    share: db.prepare(`SELECT position FROM shares
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ?`),
    putRow: db.prepare(
      'INSERT OR REPLACE INTO rows (subscription, partition, subject, key, row) VALUES (?, ?, ?, ?, ?)',
    ),
    dropRow: db.prepare(
      'DELETE FROM rows WHERE subscription = ? AND partition = ? AND subject = ? AND key = ?',
    ),
    rowsAfter: db.prepare(`SELECT subject, key, row FROM rows
    WHERE subscription = ? AND partition = ? AND (subject, key) > (?, ?) ORDER BY subject, key LIMIT ?`),
    putStretch: db.prepare(
      'INSERT OR REPLACE INTO stretches (subscription, partition, start, settings) VALUES (?, ?, ?, ?)',
    ),
    lastStretch: db.prepare(`SELECT settings FROM stretches
    WHERE subscription = ? AND partition = ? ORDER BY start DESC LIMIT 1`),
    version: db.prepare('SELECT version FROM row_versions WHERE subscription = ? AND partition = ?'),
    putVersion: db.prepare(
      'INSERT OR REPLACE INTO row_versions (subscription, partition, version) VALUES (?, ?, ?)',
    ),
    stretchesOf: db.prepare(`SELECT t.name AS topic, partition, start, settings FROM stretches
    JOIN subscriptions s ON s.id = subscription JOIN topics t ON t.id = s.topic
    WHERE s.grp = ? ORDER BY t.id, partition, start`),
    sharesOf: db.prepare(`SELECT t.name AS topic, partition, position, stopped FROM shares
    JOIN subscriptions s ON s.id = subscription JOIN topics t ON t.id = s.topic
    WHERE s.grp = ? ORDER BY t.id, partition`),
    // A single statement reads a single commit, so positions and rows match.
    committedOf: db.prepare(`SELECT t.name AS topic, sh.partition, position, version, subject, key, row
    FROM shares sh
    JOIN subscriptions s ON s.id = sh.subscription JOIN topics t ON t.id = s.topic
    LEFT JOIN row_versions v ON v.subscription = sh.subscription AND v.partition = sh.partition
    LEFT JOIN rows r ON r.subscription = sh.subscription AND r.partition = sh.partition
    WHERE s.grp = ? ORDER BY t.id, sh.partition, subject, key`),
  };
}

function lagOf(shares: readonly Record<string, unknown>[], records: Records): GroupLag[] {
  const endsByTopic = new Map<string, number[]>();
  return shares.map(({ topic, partition, position, stopped }) => {
    const ends = endsByTopic.get(topic as string) ?? records.ends(topic as Topic);
    endsByTopic.set(topic as string, ends);
    return {
      topic: topic as Topic,
      partition: partition as number,
      position: position as number,
      // The end is below the position if the last records that the group read are lost.
      end: Math.max(ends[partition as number]!, position as number),
      ...defined({ stopped: stopped === null ? undefined : (stopped as string) }),
    };
  });
}
