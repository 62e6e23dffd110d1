import type { Topic } from '../../events/define-event.ts';
import type { GroupLag, SettingsStretch } from '../event-log.ts';
import type { LogDatabase } from './database.ts';
import type { Commit, Lease, LoadedPartition, StoredPartition } from './protocol.ts';
import type { PackedRecord, Records } from './records.ts';
import type { Steps } from './write-queue.ts';

export type Groups = ReturnType<typeof openGroups>;

/** State, position and settings of each group's partitions. */
export function openGroups({ db, partitions }: LogDatabase, records: Records, onStep: Steps) {
  // The fence: it matches only while the lease is in force and the input stands where the fold began.
  const advance = db.prepare(`UPDATE shares SET position = ?, stopped = ?
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ? AND position = ?`);
  const share = db.prepare(`SELECT position FROM shares
    WHERE subscription = ? AND partition = ? AND owner = ? AND generation = ?`);
  const putRow = db.prepare(
    'INSERT OR REPLACE INTO rows (subscription, partition, subject, key, row) VALUES (?, ?, ?, ?, ?)',
  );
  const dropRow = db.prepare(
    'DELETE FROM rows WHERE subscription = ? AND partition = ? AND subject = ? AND key = ?',
  );
  const rowsOf = db.prepare(
    'SELECT subject, key, row FROM rows WHERE subscription = ? AND partition = ? ORDER BY subject, key',
  );
  const putStretch = db.prepare(
    'INSERT OR REPLACE INTO stretches (subscription, partition, start, settings) VALUES (?, ?, ?, ?)',
  );
  const lastStretch = db.prepare(`SELECT settings FROM stretches
    WHERE subscription = ? AND partition = ? ORDER BY start DESC LIMIT 1`);
  const stretchesOf = db.prepare(`SELECT t.name AS topic, partition, start, settings FROM stretches
    JOIN subscriptions s ON s.id = subscription JOIN topics t ON t.id = s.topic
    WHERE s.grp = ? ORDER BY t.id, partition, start`);
  const sharesOf = db.prepare(`SELECT t.name AS topic, partition, position, stopped FROM shares
    JOIN subscriptions s ON s.id = subscription JOIN topics t ON t.id = s.topic
    WHERE s.grp = ? ORDER BY t.id, partition`);
  // One statement sees one commit: positions and rows belong together.
  const committedOf =
    db.prepare(`SELECT t.name AS topic, sh.partition, position, subject, key, row FROM shares sh
    JOIN subscriptions s ON s.id = sh.subscription JOIN topics t ON t.id = s.topic
    LEFT JOIN rows r ON r.subscription = sh.subscription AND r.partition = sh.partition
    WHERE s.grp = ? ORDER BY t.id, sh.partition, subject, key`);

  return {
    load: ({ subscription, partition, member, generation }: Lease): LoadedPartition | null => {
      const found = share.get(subscription, partition, member, generation);
      if (found === undefined) return null;
      return {
        position: found.position as number,
        rows: rowsOf
          .all(subscription, partition)
          .map(({ subject, key, row }) => [subject as string, key as string, row as string] as const),
        settings: (lastStretch.get(subscription, partition)?.settings as string | undefined) ?? null,
      };
    },

    /** Inside a transaction. Checks the lease and the position before it writes anything. */
    commit: (commit: Commit, packed: readonly PackedRecord[]): boolean => {
      const { subscription, partition, member, generation } = commit.lease;
      const fenced = advance.run(
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
        if (row === null) dropRow.run(subscription, partition, subject, key);
        else putRow.run(subscription, partition, subject, key, row);
      }
      onStep('rows');
      if (commit.settings !== null) putStretch.run(subscription, partition, commit.from, commit.settings);
      records.append(packed);
      onStep('records');
      return true;
    },

    lag: (group: string): GroupLag[] => {
      const ends = new Map<string, number[]>();
      return sharesOf.all(group).map(({ topic, partition, position, stopped }) => {
        const of = ends.get(topic as string) ?? records.ends(topic as Topic);
        ends.set(topic as string, of);
        return {
          topic: topic as Topic,
          partition: partition as number,
          position: position as number,
          // behind it, where the records that were read last are lost
          end: Math.max(of[partition as number]!, position as number),
          ...(stopped === null ? {} : { stopped: stopped as string }),
        };
      });
    },

    stretches: (group: string): SettingsStretch[] =>
      stretchesOf.all(group).map(({ topic, partition, start, settings }) => ({
        topic: topic as Topic,
        partition: partition as number,
        from: start as number,
        settings: JSON.parse(settings as string),
      })),

    committed: (group: string): StoredPartition[] =>
      [
        ...Map.groupBy(committedOf.all(group), ({ topic, partition }) => `${topic}/${partition}`).values(),
      ].map((of) => ({
        topic: of[0]!.topic as Topic,
        partition: of[0]!.partition as number,
        position: of[0]!.position as number,
        rows: of
          .filter(({ key }) => key !== null)
          .map(({ subject, key, row }) => [subject as string, key as string, row as string] as const),
      })),

    partitions,
  };
}
