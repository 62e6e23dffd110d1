import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { openSqliteLog } from '../../shared/log/sqlite/open-sqlite-log.ts';

export type LogBenchRow = {
  readonly what: string;
  readonly log: number | null;
  readonly bare: number | null;
};

export const batched = 20_000;
export const single = 2_000;
export const batch = 100;
export const rounds = 3;

/**
 * Events per second, of about 1 KB each: the log (its thread, partitions, offsets, leases, wake-ups) next to
 * node:sqlite as bare as it goes (one connection in this thread, one table, same journal and flush), in turns;
 * the best of three rounds each, for the machine is shared. Prints a table, and returns it.
 */
export async function benchLog(): Promise<readonly LogBenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-bench-'));
  try {
    const found: { log: LogFigures[]; bare: BareFigures[]; unflushed: BareFigures[] } = {
      log: [],
      bare: [],
      unflushed: [],
    };
    for (let round = 0; round < rounds; round += 1) {
      found.bare.push(benchBare(join(folder, `bare-${round}.sqlite`), 'FULL'));
      found.unflushed.push(benchBare(join(folder, `normal-${round}.sqlite`), 'NORMAL'));
      const log = await openSqliteLog({ folder: join(folder, `log-${round}`) });
      found.log.push(await benchOpenLog(log));
      await log.close();
    }
    const normal = 'without a flush per commit (NORMAL)';
    const unflushed = best(found.unflushed);
    const rows = [
      ...rowsOf(best(found.log), best(found.bare)),
      { what: `${normal}: ${batch} at a time`, log: null, bare: unflushed.batched },
      { what: `${normal}: one by one`, log: null, bare: unflushed.single },
    ];
    printRows('Event log on SQLite', 'bare node:sqlite', rows);
    return rows;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function printRows(title: string, peer: string, rows: readonly LogBenchRow[]): void {
  console.log(`\n${title}, events/s (1 KB each)`);
  console.table(
    rows.map(({ what, log, bare }) => ({
      what,
      log: log === null ? '' : Math.round(log),
      [peer]: bare === null ? '' : Math.round(bare),
      'of bare': log === null || bare === null ? '' : (log / bare).toFixed(2),
    })),
  );
}

/** events per second */
export type BareFigures = {
  readonly batched: number;
  readonly single: number;
  readonly read: number;
  readonly process: number;
};
export type LogFigures = BareFigures & { readonly together: number };

export async function benchOpenLog(log: EventLog): Promise<LogFigures> {
  const appended = await perSecond(batched, async () => {
    for (let i = 0; i < batched; i += batch) await log.append(events(i, batch));
  });
  const followed = await perSecond(batched, async () => {
    const stop = new AbortController();
    const following = log.follow('conversations', {}, () => undefined, stop.signal);
    await following.caughtUp;
    stop.abort();
    await following.done;
  });
  const processed = await perSecond(batched, () => processAll(log));
  const alone = await perSecond(single, async () => {
    for (let i = 0; i < single; i += 1) await log.append(events(batched + i, 1));
  });
  const together = await perSecond(single, async () => {
    for (let i = 0; i < single; i += batch) {
      await Promise.all(
        Array.from({ length: batch }, (_, n) => log.append(events(batched + single + i + n, 1))),
      );
    }
  });
  return { batched: appended, single: alone, together, read: followed, process: processed };
}

export const rowsOf = (log: LogFigures, bare: BareFigures): LogBenchRow[] => [
  { what: `append, ${batch} at a time`, log: log.batched, bare: bare.batched },
  { what: 'append, one by one', log: log.single, bare: bare.single },
  { what: `append, ${batch} callers at once`, log: log.together, bare: null },
  { what: 'read in order, parsed and checked (bare: JSON.parse)', log: log.read, bare: bare.read },
  { what: 'process: fold, rows, one event out (bare: same tables)', log: log.process, bare: bare.process },
];

/** The highest of each figure. */
export function best<Figures extends Readonly<Record<string, number>>>(found: readonly Figures[]): Figures {
  const names = Object.keys(found[0]!);
  return Object.fromEntries(
    names.map((name) => [name, Math.max(...found.map((figures) => figures[name]!))]),
  ) as Figures;
}

const counting: Fold<null> = {
  name: 'counting',
  reads: 'conversations',
  writes: 'turns',
  on: (rows, event) => {
    const draft = openDraft(rows);
    const counts = draft.table<number>('count');
    counts.set('n', (counts.get('n') ?? 0) + 1);
    return { changes: draft.changes(), emit: [skipped(event.id, event.subject)] };
  },
};

async function processAll(log: EventLog): Promise<void> {
  const stop = new AbortController();
  const level = Promise.withResolvers<void>();
  const look = async () => {
    const lag = await log.lag('bench');
    if (lag.length > 0 && lag.every(({ position, end }) => position === end)) level.resolve();
  };
  const done = log.process(
    counting,
    // Looked at again: on Kafka a commit shows a moment after it was made.
    { group: 'bench', settings: null, owed: () => void look(), owedIntervalMs: 100 },
    stop.signal,
  );
  await level.promise;
  stop.abort();
  await done;
}

function benchBare(file: string, synchronous: 'FULL' | 'NORMAL'): BareFigures {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous};
    CREATE TABLE records (k INTEGER PRIMARY KEY, body TEXT); CREATE TABLE turns (k INTEGER PRIMARY KEY, body TEXT);
    CREATE TABLE rows (key TEXT PRIMARY KEY, row TEXT); CREATE TABLE position (k INTEGER PRIMARY KEY, at INTEGER)`);
  const insert = db.prepare('INSERT INTO records (body) VALUES (?)');
  const write = (from: number, count: number) => {
    db.exec('BEGIN IMMEDIATE');
    for (const event of events(from, count)) insert.run(JSON.stringify(event));
    db.exec('COMMIT');
  };
  const figures = {
    batched: perSecondNow(batched, () => {
      for (let i = 0; i < batched; i += batch) write(i, batch);
    }),
    single: perSecondNow(single, () => {
      for (let i = 0; i < single; i += 1) write(batched + i, 1);
    }),
  };
  const page = db.prepare('SELECT k, body FROM records WHERE k > ? ORDER BY k LIMIT ?');
  const turn = db.prepare('INSERT INTO turns (body) VALUES (?)');
  const row = db.prepare('INSERT OR REPLACE INTO rows VALUES (?, ?)');
  const position = db.prepare('INSERT OR REPLACE INTO position VALUES (1, ?)');
  const pages = (onPage: (found: readonly SessionStarted[], end: number) => void) => {
    for (let at = 0; at < batched; at += batch) {
      onPage(
        page.all(at, batch).map(({ body }) => JSON.parse(body as string)),
        at + batch,
      );
    }
  };
  const counts = new Map<string, number>();
  const more = {
    read: perSecondNow(batched, () => pages(() => undefined)),
    process: perSecondNow(batched, () =>
      pages((found, end) => {
        db.exec('BEGIN IMMEDIATE');
        for (const { id, subject } of found) {
          counts.set(subject, (counts.get(subject) ?? 0) + 1);
          turn.run(JSON.stringify(skipped(id, subject)));
        }
        for (const subject of new Set(found.map((event) => event.subject)))
          row.run(subject, String(counts.get(subject)));
        position.run(end);
        db.exec('COMMIT');
      }),
    ),
  };
  db.close();
  return { ...figures, ...more };
}

const time = '2026-03-01T12:00:00.000Z';
const filler = 'abcdefghijklmnopqrstuvwxyz 0123456789 '.repeat(20);

export const events = (from: number, count: number): SessionStarted[] =>
  Array.from({ length: count }, (_, n) => {
    const i = from + n;
    const data = { lane: `lane-${i % 50}`, key: filler, session: `session-${i}`, settle: 'votes' as const };
    return SessionStarted.create({ id: `event-${i}`, source: 'clawloop/bench', time, data });
  });

export const skipped = (id: string, lane: string): TurnSkipped =>
  TurnSkipped.create({
    id: `${id}/skipped`,
    source: 'clawloop/bench',
    time,
    data: { turnId: id, lane, reason: 'side', by: id },
  });

export async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await work();
  return (1_000 * count) / (performance.now() - from);
}

function perSecondNow(count: number, work: () => void): number {
  const from = performance.now();
  work();
  return (1_000 * count) / (performance.now() - from);
}
