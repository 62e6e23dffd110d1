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
export const single = 1_000;
export const batch = 100;
const rounds = 3;

/** The peer: the client library alone. `read` and `process` read all events that were appended in batches. */
export type BareLog = {
  readonly append: (events: readonly SessionStarted[]) => unknown;
  /** events per second */
  readonly read: (round: number) => Promise<number>;
  readonly process: (round: number) => Promise<number>;
};

/**
 * Events per second, of about 1 KB each: the log (its thread, partitions, offsets, leases, wake-ups) next to bare
 * node:sqlite (one connection in this thread, one table, same journal and flush). Prints a table, and returns it.
 */
export async function benchLog(): Promise<readonly LogBenchRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-bench-'));
  try {
    const bare = openBare(join(folder, 'bare.sqlite'));
    const log = await openSqliteLog({ folder: join(folder, 'log') });
    const rows = await benchOpenLog(log, bare);
    await log.close();
    bare.close();
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

/**
 * Because the machine is shared, the log and its peer alternate batch by batch when they append, and the median batch
 * counts. For reading and folding, which take longer, the best of three rounds counts.
 */
export async function benchOpenLog(log: EventLog, bare: BareLog): Promise<LogBenchRow[]> {
  const many = await byTurns(log, bare, batched, batch);
  const read = await best(
    (round) => bare.read(round),
    () =>
      perSecond(batched, async () => {
        const stop = new AbortController();
        const following = log.follow('conversations', {}, () => undefined, { signal: stop.signal });
        await following.caughtUp;
        stop.abort();
        await following.done;
      }),
  );
  const process = await best(
    (round) => bare.process(round),
    (round) => perSecond(batched, () => processAll(log, `bench-${round}`)),
  );
  const one = await byTurns(log, bare, single, 1);
  const atOnce = (events: readonly SessionStarted[]) =>
    Promise.all(events.map((event) => log.append([event])));
  const together = median(await times(50, (i) => atOnce(events(batched + single + i * batch, batch))));
  return [
    { what: `append, ${batch} at a time`, ...many },
    { what: 'append, one by one', ...one },
    { what: `append, ${batch} callers at once`, log: (1_000 * batch) / together, bare: null },
    { what: 'read in order, parsed and checked (bare: JSON.parse)', ...read },
    { what: 'process: fold, rows, one event out (bare: same tables)', ...process },
  ];
}

type Pair = { readonly log: number; readonly bare: number };

async function byTurns(log: EventLog, bare: BareLog, count: number, size: number): Promise<Pair> {
  const taken: { log: number[]; bare: number[] } = { log: [], bare: [] };
  for (let i = 0; i < count / size; i += 1) {
    const written = events(i * size, size);
    for (const who of i % 2 === 0 ? (['log', 'bare'] as const) : (['bare', 'log'] as const)) {
      const work = who === 'log' ? () => log.append(written) : () => bare.append(written);
      taken[who].push(...(await times(1, work)));
    }
  }
  return { log: (1_000 * size) / median(taken.log), bare: (1_000 * size) / median(taken.bare) };
}

async function best(
  bare: (round: number) => Promise<number>,
  log: (round: number) => Promise<number>,
): Promise<Pair> {
  const found: { log: number[]; bare: number[] } = { log: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    found.bare.push(await bare(round));
    found.log.push(await log(round));
  }
  return { log: Math.max(...found.log), bare: Math.max(...found.bare) };
}

/** ms of each */
async function times(count: number, work: (index: number) => unknown): Promise<number[]> {
  const taken: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const from = performance.now();
    await work(i);
    taken.push(performance.now() - from);
  }
  return taken;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

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

async function processAll(log: EventLog, group: string): Promise<void> {
  const stop = new AbortController();
  const level = Promise.withResolvers<void>();
  const look = async () => {
    const lag = await log.lag(group);
    if (lag.length > 0 && lag.every(({ position, end }) => position === end)) level.resolve();
  };
  const done = log.process(
    counting,
    // Checked repeatedly, because on Kafka a commit becomes visible with a short delay.
    { group, settings: null, owed: () => void look(), owedIntervalMs: 100 },
    stop.signal,
  );
  await level.promise;
  stop.abort();
  await done;
}

function openBare(file: string): BareLog & { readonly close: () => void } {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE records (k INTEGER PRIMARY KEY, body TEXT); CREATE TABLE turns (k INTEGER PRIMARY KEY, body TEXT);
    CREATE TABLE rows (key TEXT PRIMARY KEY, row TEXT); CREATE TABLE position (k INTEGER PRIMARY KEY, at INTEGER)`);
  const insert = db.prepare('INSERT INTO records (body) VALUES (?)');
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
  return {
    append: (written) => {
      db.exec('BEGIN IMMEDIATE');
      for (const event of written) insert.run(JSON.stringify(event));
      db.exec('COMMIT');
    },
    read: () => perSecond(batched, async () => pages(() => undefined)),
    process: () =>
      perSecond(batched, async () =>
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
    close: () => db.close(),
  };
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
