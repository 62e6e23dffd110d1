import type { Message } from 'kafkajs';
import { FIRST_ROWS } from '../row-versions.ts';
import type { KafkaStore } from './kafka-store.ts';
import type { RawMessage } from './kafkajs-internals.ts';
import type { OutgoingRecord } from './messages.ts';
import type { ReadSoFar } from './read-so-far.ts';

/**
 * A group's compacted topic stores each row under the key `<subject>\0<row key>`, with the row's JSON as value and
 * a tombstone for a removed row. The keys below store the settings by the position from which they apply, a
 * summary of the input that was read, the version of the rows, and their input position. The group's offset is the same
 * position, but a broker deletes the offset of a group that was inactive for a week. No row key starts with a
 * zero character, so these keys never collide with a row, even of a subject with an empty name.
 */
const settingsKey = '\u0000\u0000settings/';
const positionKey = '\u0000\u0000position';
const readKey = '\u0000\u0000read';
/**
 * The version of the rows, from 2 on. The value is no JSON, so a program that knows no versions ends at it: it would
 * read the rows as if they were of version 1.
 */
const versionKey = '\u0000\u0000version';
const VERSION_TEXT = 'version ';

/** Whether a key of the topic names a row. */
export const isRowKey = (key: string): boolean => !key.startsWith('\u0000\u0000');

/** The values with what is now known to be read. A partition of which nothing was folded yet has none. */
export const withRead = (values: ReadonlyMap<string, string>, read: ReadSoFar): ReadonlyMap<string, string> =>
  new Map([...values].map(([key, json]) => [key, key === readKey ? JSON.stringify(read) : json]));

type RowEntry = readonly [subject: string, key: string, row: unknown];

export type LoadedChangelog = {
  readonly rows: readonly RowEntry[];
  /** JSON of the settings by position, in order. */
  readonly stretches: readonly { readonly from: number; readonly settings: string }[];
  /** null: nothing was folded yet. */
  readonly position: number | null;
  /** null: nothing was folded yet, or an earlier version wrote the rows. */
  readonly read: ReadSoFar | null;
  readonly rowsVersion: number;
};

type ChangelogPlace = {
  readonly partition: number;
  readonly next: number;
  readonly read: ReadSoFar;
  /** Version of all rows after the commit; null: as before. */
  readonly rowsVersion: number | null;
};

export function changelogRecords(
  topic: string,
  { partition, next, read, rowsVersion }: ChangelogPlace,
  changes: ReadonlyMap<string, ReadonlyMap<string, unknown>>,
  settings: { readonly from: number; readonly json: string } | null,
): readonly OutgoingRecord[] {
  const record = (key: string, json: string | null): OutgoingRecord => {
    const message: Message = { key, value: json, partition };
    return { topic, message, bytes: key.length + (json === null ? 0 : Buffer.byteLength(json)) };
  };
  const rows = [...changes].flatMap(([subject, of]) =>
    [...of].map(([key, row]) =>
      record(`${subject}\u0000${key}`, row === undefined ? null : JSON.stringify(row)),
    ),
  );
  const stretch = settings === null ? [] : [record(`${settingsKey}${settings.from}`, settings.json)];
  const version = rowsVersion === null ? [] : [record(versionKey, VERSION_TEXT + rowsVersion)];
  return [
    ...rows,
    ...stretch,
    ...version,
    record(readKey, JSON.stringify(read)),
    record(positionKey, String(next)),
  ];
}

/** Parses one partition of a group's topic from the last value of each key. */
export function foldChangelog(values: ReadonlyMap<string, string>): LoadedChangelog {
  const rows: RowEntry[] = [];
  const stretches: { from: number; settings: string }[] = [];
  let position: number | null = null;
  let read: ReadSoFar | null = null;
  let rowsVersion = FIRST_ROWS;
  for (const [key, json] of values) {
    if (key === positionKey) {
      position = Number(json);
      continue;
    }
    if (key === readKey) {
      read = JSON.parse(json) as ReadSoFar;
      continue;
    }
    if (key === versionKey) {
      rowsVersion = Number(json.slice(VERSION_TEXT.length));
      continue;
    }
    if (key.startsWith(settingsKey)) {
      stretches.push({ from: Number(key.slice(settingsKey.length)), settings: json });
      continue;
    }
    const end = key.indexOf('\u0000');
    rows.push([key.slice(0, end), key.slice(end + 1), JSON.parse(json)]);
  }
  stretches.sort((a, b) => a.from - b.from);
  return { rows, stretches, position, read, rowsVersion };
}

/** The position last, as in each commit: `readWholeCommits` omits what follows it. */
export const inOrderOfCommit = (
  values: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] => [
  ...[...values].filter(([key]) => key !== positionKey),
  ...[...values].filter(([key]) => key === positionKey),
];

/**
 * Reads a partition up to its current end. For the owner of the partition's transactional id, which knows that
 * no transaction is open.
 * @throws LogUnavailable
 */
export async function readChangelog(
  store: Pick<KafkaStore, 'query'>,
  topic: string,
  partition: number,
): Promise<LoadedChangelog> {
  return foldChangelog(await readLastValues(store, topic, partition));
}

/** The last value of each key. */
export async function readLastValues(
  store: Pick<KafkaStore, 'query'>,
  topic: string,
  partition: number,
): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  await readMessages(store, topic, partition, (message) => apply(values, message));
  return values;
}

/**
 * Like `readChangelog`, for a reader that does not own the transactional id: omits an incomplete last commit.
 * The position is the last record of each commit.
 * @throws LogUnavailable
 */
export async function readWholeCommits(
  store: KafkaStore,
  topic: string,
  partition: number,
): Promise<LoadedChangelog> {
  const values = new Map<string, string>();
  let pending: RawMessage[] = [];
  await readMessages(store, topic, partition, (message) => {
    pending.push(message);
    if (message.key?.toString('utf8') !== positionKey) return;
    for (const committed of pending) apply(values, committed);
    pending = [];
  });
  return foldChangelog(values);
}

async function readMessages(
  store: Pick<KafkaStore, 'query'>,
  topic: string,
  partition: number,
  onMessage: (message: RawMessage) => void,
): Promise<void> {
  const start = (await store.query.offsets(topic, 'start'))[partition]!;
  const end = (await store.query.offsets(topic, 'end'))[partition]!;
  for (let at = start; at < end; ) {
    const [fetched] = await store.query.fetch(topic, new Map([[partition, at]]), { waitMs: 100 });
    for (const message of fetched?.records ?? []) onMessage(message);
    at = fetched?.next ?? at;
  }
}

function apply(values: Map<string, string>, { key, value }: RawMessage): void {
  if (key === null) return;
  if (value === null) values.delete(key.toString('utf8'));
  else values.set(key.toString('utf8'), value.toString('utf8'));
}
