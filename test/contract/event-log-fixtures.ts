import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { Topic } from '../../shared/events/define-event.ts';
import { FeedbackGiven } from '../../shared/events/feedback-given.ts';
import type { Position } from '../../shared/events/position.ts';
import { SessionStarted } from '../../shared/events/session-started.ts';
import { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import type { EventLog, Recorded } from '../../shared/log/event-log.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { readToEnd } from '../../shared/log/read-topic.ts';
import { openDraft } from '../../shared/log/rows.ts';

export const time = '2026-03-01T12:00:00.000Z';

/** The input of most tests: `started('a', 3)` is the fourth event of lane a. */
export const started = (lane: string, n: number): SessionStarted =>
  SessionStarted.create({
    id: `${lane}-${n}`,
    source: 'clawloop/test',
    time,
    data: { lane, key: 'k', session: `${lane}-${n}`, settle: 'votes' },
  });

export const feedback = (lane: string, id: string, comment: string): FeedbackGiven =>
  FeedbackGiven.create({
    id,
    source: 'clawloop/test',
    time,
    data: { interactionId: id, lane, key: 'k', score: 1, comment },
  });

/** `count` events over `lanes` lanes, those of a lane in order. */
export const startedMany = (count: number, lanes: number, from = 0): SessionStarted[] =>
  Array.from({ length: count }, (_, index) => {
    const i = from + index;
    return started(`lane-${i % lanes}`, Math.floor(i / lanes));
  });

export type LedgerSettings = { readonly label: string };

/**
 * Counts the events of a lane, each id once, and emits the count. An event that was lost, folded twice, folded over old
 * rows or written in another order changes the emitted counts.
 */
export const ledger: Fold<LedgerSettings> = {
  name: 'ledger',
  reads: 'conversations',
  writes: 'turns',
  on: (rows, event, _at, { label }) => {
    const draft = openDraft(rows);
    const seen = draft.table<boolean>('seen');
    if (seen.get(event.id) === true) return { changes: [], emit: [] };
    seen.set(event.id, true);
    const counts = draft.table<number>('count');
    const count = (counts.get('n') ?? 0) + 1;
    counts.set('n', count);
    const counted = TurnSkipped.create({
      id: `${event.id}/skipped`,
      source: 'clawloop/ledger',
      time: event.time,
      data: {
        turnId: event.id,
        lane: event.subject,
        reason: 'side',
        rule: `${count} ${label}`,
        by: event.id,
      },
    });
    return { changes: draft.changes(), emit: [counted] };
  },
};

/** `ledger` as a later release may write it: the count is in another table, as an object. */
export const laterLedger: Fold<LedgerSettings> = {
  ...ledger,
  on: (rows, event, at, settings) => {
    const draft = openDraft(rows);
    const total = draft.table<{ readonly events: number }>('total');
    // The earlier code sees its own shape, and its count goes to the present one.
    const counted = total.get('all')?.events;
    const earlier = {
      get: (key: string) => (key === 'count/n' ? counted : rows.get(key)),
      entries: rows.entries,
    };
    const { changes, emit } = ledger.on(earlier, event, at, settings);
    return {
      changes: changes.map(({ key, row }) =>
        key === 'count/n' ? { key: 'total/all', row: { events: row } } : { key, row },
      ),
      emit,
    };
  },
  migrations: [
    (rows) => [
      { key: 'total/all', row: { events: rows.get('count/n') } },
      { key: 'count/n', row: undefined },
    ],
  ],
};

/** The group that folds with `ledger` in most tests. */
export const ledgers = { group: 'ledgers', settings: { label: 'one' } } as const;

/** Emits, at each event, data that only the body of the lane's previous event contains. */
export const echo: Fold<null> = {
  name: 'echo',
  reads: 'conversations',
  writes: 'turns',
  on: (rows, event, at) => {
    const draft = openDraft(rows);
    const last = draft.table<{ readonly id: string; readonly at: Position }>('last');
    const previous = last.get('event');
    last.set('event', { id: event.id, at });
    if (previous === undefined) return { changes: draft.changes(), emit: [] };
    const create = (record: ClawLoopEvent) =>
      TurnSkipped.create({
        id: `${event.id}/echo`,
        source: 'clawloop/echo',
        time: event.time,
        data: {
          turnId: record.id,
          lane: event.subject,
          reason: 'side',
          by: event.id,
          rule: record.type === 'feedback.given' ? String(record.data.comment?.length) : record.type,
        },
      });
    const gone = () =>
      TurnSkipped.create({
        id: `${event.id}/echo`,
        source: 'clawloop/echo',
        time: event.time,
        data: { turnId: previous.id, lane: event.subject, reason: 'record-gone', by: event.id },
      });
    return { changes: draft.changes(), emit: [{ reads: previous.at, id: previous.id, create, gone }] };
  },
};

/** All events of a topic, up to its current end. */
export async function readTopic(log: EventLog, topic: Topic): Promise<Recorded[]> {
  const records: Recorded[] = [];
  await readToEnd(log, topic, (record) => void records.push(record));
  return records;
}

/** What `ledger` wrote, per lane: the ids in order, each with its count. */
export async function readLedger(log: EventLog): Promise<Record<string, string[]>> {
  const lanes: Record<string, string[]> = {};
  for (const { event } of await readTopic(log, 'turns')) {
    if (event.type !== 'turn.skipped') continue;
    const lane = lanes[event.data.lane] ?? [];
    lane.push(`${event.data.turnId} ${event.data.rule?.split(' ')[0]}`);
    lanes[event.data.lane] = lane;
  }
  return lanes;
}

/** What `ledger` must have written for `startedMany(count, lanes)`. */
export function expectedLedger(count: number, lanes: number): Record<string, string[]> {
  const expected: Record<string, string[]> = {};
  for (const { id, subject } of startedMany(count, lanes)) {
    const lane = expected[subject] ?? [];
    lane.push(`${id} ${lane.length + 1}`);
    expected[subject] = lane;
  }
  return expected;
}

/** Waits for a condition; fails after `timeoutMs`. */
export async function until(condition: () => boolean | Promise<boolean>, timeoutMs = 50_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not true after ${timeoutMs} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The group has committed everything in its topic. */
export async function isLevel(log: EventLog, group: string): Promise<boolean> {
  const lag = await log.lag(group);
  return lag.length > 0 && lag.every(({ position, end }) => position === end);
}
export const untilLevel = (log: EventLog, group: string, timeoutMs?: number) =>
  until(() => isLevel(log, group), timeoutMs);
