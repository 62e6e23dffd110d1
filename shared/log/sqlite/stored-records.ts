import type { DatabaseSync } from 'node:sqlite';
import { type Topic, topics } from '../../events/define-event.ts';
import { LogTrimmed } from '../../events/log-trimmed.ts';
import { parseEvent } from '../../events/parse-event.ts';
import type { ChainedRecord, ChainHead } from '../chain.ts';
import { logError } from '../errors.ts';
import type { PlacedRecord } from '../log-contents.ts';
import { chainOf } from '../verify-chain.ts';
import { type LogDatabase, maxOffsets } from './database.ts';
import { bodyOf } from './packing.ts';

/** Records per query. */
const PAGE = 200;

export type Stored = ChainedRecord & { readonly k: number; readonly link: string | null };

export function* storedRecords(db: DatabaseSync, run: number): Generator<Stored> {
  const page = db.prepare(
    'SELECT k, time, type, subject, body, link FROM records WHERE k >= ? AND k < ? ORDER BY k LIMIT ?',
  );
  for (let from = run * maxOffsets; ; ) {
    const rows = page.all(from, (run + 1) * maxOffsets, PAGE);
    for (const row of rows) yield { ...(row as unknown as Stored), offset: (row.k as number) % maxOffsets };
    if (rows.length < PAGE) return;
    from = (rows.at(-1)!.k as number) + 1;
  }
}

export function* allRecords(database: LogDatabase, file: string): Generator<PlacedRecord> {
  for (const place of placesOf(database))
    for (const stored of storedRecords(database.db, place.run)) yield placed(stored, place, file);
}

export type Place = { readonly topic: Topic; readonly partition: number; readonly run: number };

export const placesOf = ({ partitions, topicIds }: LogDatabase): readonly Place[] =>
  topics.flatMap((topic) =>
    Array.from({ length: partitions }, (_, partition) => ({
      topic,
      partition,
      run: topicIds.get(topic)! * 256 + partition,
    })),
  );

export function placed(
  { offset, type, subject, body: stored }: Stored,
  { topic, partition }: Place,
  file: string,
): PlacedRecord {
  const { body, damage } = bodyOf(stored);
  if (damage !== undefined)
    throw logError(
      'LogRefused',
      `${topic}/${partition}@${offset} of ${file} ${damage}: restore the data folder from a backup first`,
    );
  return { topic, partition, offset, type, subject, body };
}

/** The links at the starts of trimmed partitions, as `log.trimmed` recorded them. */
export function toldTrims(database: LogDatabase, file: string): readonly ChainHead[] {
  const told: ChainHead[] = [];
  for (const place of placesOf(database).filter(({ topic }) => topic === LogTrimmed.topic))
    for (const stored of storedRecords(database.db, place.run)) {
      if (stored.type !== LogTrimmed.type) continue;
      const parsed = parseEvent(placed(stored, place, file).body);
      if (parsed.kind === 'event' && parsed.event.type === 'log.trimmed') told.push(chainOf(parsed.event));
    }
  return told;
}
