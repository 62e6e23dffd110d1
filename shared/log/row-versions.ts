import type { Topic } from '../events/define-event.ts';
import { logError } from './errors.ts';
import type { Fold } from './fold.ts';
import type { PartitionState } from './fold-chunk.ts';
import type { RowChange, Rows } from './rows.ts';

/** Brings the rows of one subject from a version to the next. Pure: it reads no log, which may have been trimmed. */
export type Migration = (rows: Rows, subject: string) => readonly RowChange[];

/** The version of rows without a stored version: releases that wrote none wrote this shape. */
export const FIRST_ROWS = 1;

export const rowsVersionOf = ({ migrations = [] }: Pick<Fold, 'migrations'>): number =>
  FIRST_ROWS + migrations.length;

/**
 * The versions above 1 of the rows of the services' groups. Commands that read rows without the fold compare with
 * these.
 */
const known: Readonly<Record<string, number>> = {};

export const knownRowsVersion = (group: string): number => known[group] ?? FIRST_ROWS;

/** Migrates rows of version `from` in memory. Returns the last value of each row that changed. */
export function migrateRows(
  { migrations = [] }: Pick<Fold, 'migrations'>,
  { subjects }: PartitionState,
  from: number,
): ReadonlyMap<string, ReadonlyMap<string, unknown>> {
  const changes = new Map<string, Map<string, unknown>>();
  for (const migrate of migrations.slice(from - FIRST_ROWS))
    for (const [subject, rows] of subjects) {
      const changed = changes.get(subject) ?? new Map<string, unknown>();
      const made = migrate(rows, subject);
      for (const { key, row } of made) changed.set(key, row);
      rows.apply(made);
      if (changed.size > 0) changes.set(subject, changed);
    }
  return changes;
}

type Place = { readonly group: string; readonly topic: Topic; readonly partition: number };

/** @param reads the version that this program reads */
export function rowsOfOtherVersion({ group, topic, partition }: Place, found: number, reads: number): Error {
  const rows = `the rows of ${group} for ${topic}/${partition} have version ${found}`;
  const advice =
    found > reads
      ? `and this version of ClawLoop knows ${reads}: update it`
      : `and this version of ClawLoop reads ${reads}: start its services once, which migrates them`;
  return logError('OtherRows', `${rows}, ${advice}`);
}

/** For a reader of rows that does not migrate them. @throws OtherRows */
export function requireKnownRows(place: Place & { readonly rowsVersion: number }): void {
  const reads = knownRowsVersion(place.group);
  if (place.rowsVersion !== reads) throw rowsOfOtherVersion(place, place.rowsVersion, reads);
}
