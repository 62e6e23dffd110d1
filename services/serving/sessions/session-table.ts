import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { SessionEnded } from '../../../shared/events/session-ended.ts';
import type { SessionStarted } from '../../../shared/events/session-started.ts';
import type { Heading } from '../../../shared/log/event-log.ts';
import {
  applyCompleted,
  applyFeedback,
  type EndedRow,
  endedRowOf,
  endsRow,
  isLater,
  isOver,
  newRow,
  type OpenRow,
  openRowOf,
  type Row,
  type Session,
  sessionOf,
} from './session-row.ts';
import { rowOfStored, type SessionsState, storedOf } from './stored-rows.ts';

export type SessionTable = {
  /** Applies an event. A repeated event, from this process and then from the log, has no further effect. */
  readonly apply: (event: ClawLoopEvent) => void;
  /**
   * Whether to parse a record. While the log is `skimmed`, answers are only noted, because most belong to sessions
   * that ended long ago.
   */
  readonly wants: (heading: Heading, skimmed: boolean) => boolean;
  /** Position of the next noted answer of an open session. */
  readonly nextUnread: () => Position | undefined;
  /** Applies the event at the position of a noted answer; undefined: the record is gone. */
  readonly read: (at: Position, event: ClawLoopEvent | undefined) => void;
  /** The latest session of a session key; undefined: it has none, or it ended too long ago. */
  readonly of: (sessionKey: string) => Session | undefined;
  readonly inLane: (lane: string) => Session | undefined;
  readonly openCount: () => number;
  readonly open: () => readonly OpenRow[];
  /** Sessions that ended since a time (ms since 1970) and may train. */
  readonly endedSince: (time: number) => readonly EndedRow[];
  /** Mean number of answers of the latest ended sessions with answers. */
  readonly usualAnswers: () => number;
  /** Latest first. */
  readonly list: (keyId: string) => readonly Session[];
  /** To be stored. */
  readonly state: () => SessionsState;
};

const types: ReadonlySet<string> = new Set([
  'session.started',
  'session.ended',
  'interaction.completed',
  'feedback.given',
]);

type TableOptions = {
  readonly most?: number;
  /** follow only the sessions of this session key; default: all */
  readonly only?: string;
  /** a stored state, to go on from */
  readonly from?: SessionsState | undefined;
};

/**
 * Sessions as a fold of `conversations`, in memory: the open ones, and the latest `most` of those that ended. A key is
 * sent only when its session is in the log, so a session that is not in the table is not open.
 */
export function createSessionTable({ most = 1_000, only, from }: TableOptions = {}): SessionTable {
  const byLane = new Map<string, Row>();
  const byKey = new Map<string, Row>();
  const ended = createEndedRows<Row>(most);
  const noted = createNotedAnswers();
  const usual = createUsualAnswers(from?.counts);
  for (const stored of from?.rows ?? []) {
    const row = rowOfStored(stored);
    byLane.set(row.fixed.lane, row);
    if (stored.isLatest) byKey.set(row.fixed.sessionKey, row);
    noted.restore(row);
  }
  for (const lane of from?.ended ?? []) ended.add(byLane.get(lane)!);

  const moveToEnded = (row: Row, end: NonNullable<Session['ended']>) => {
    row.ended = end;
    const dropped = ended.add(row);
    if (dropped === undefined) return;
    noted.drop(dropped);
    byLane.delete(dropped.fixed.lane);
    if (byKey.get(dropped.fixed.sessionKey) === dropped) byKey.delete(dropped.fixed.sessionKey);
  };
  const onStarted = (event: SessionStarted) => {
    const { lane, sessionKey } = event.data;
    if (sessionKey === undefined || byLane.has(lane)) return;
    if (only !== undefined && sessionKey !== only) return;
    const row = newRow(event, sessionKey);
    byLane.set(lane, row);
    const previous = byKey.get(sessionKey);
    const older = previous === undefined ? undefined : isLater(previous, row) ? row : previous;
    if (previous === undefined || older === previous) byKey.set(sessionKey, row);
    if (older !== undefined && older.ended === undefined)
      moveToEnded(older, { at: event.time, reason: 'superseded' });
  };
  const onEnded = (row: Row, event: SessionEnded) => {
    if (!endsRow(row, event)) return;
    const { time, data } = event;
    row.counted = data.interactions ?? row.answers.size + row.unread.length;
    row.isDiscarded = data.discard === true;
    if (row.counted > 0 && !row.isDiscarded) usual.add(row.counted);
    row.unread = [];
    row.answers.clear();
    row.steps.length = 0;
    noted.drop(row);
    moveToEnded(row, { at: time, reason: data.reason });
  };
  const apply = (event: ClawLoopEvent): void => {
    const row = byLane.get(event.subject);
    if (event.type === 'session.started') onStarted(event);
    else if (row === undefined) return;
    else if (event.type === 'interaction.completed') applyCompleted(row, event);
    else if (event.type === 'feedback.given') applyFeedback(row, event);
    else if (event.type === 'session.ended') onEnded(row, event);
  };
  const shown = (row: Row | undefined) => (row === undefined ? undefined : sessionOf(row));

  return {
    apply,
    wants: ({ type, subject, at }, skimmed) => {
      if (!types.has(type)) return false;
      if (type === 'session.started') return true;
      const row = byLane.get(subject);
      if (row === undefined) return false;
      if (type !== 'interaction.completed' || !skimmed) return true;
      row.latest = undefined;
      if (!isOver(row)) noted.add(row, at);
      return false;
    },
    nextUnread: noted.next,
    read: (at, event) => {
      noted.remove(at);
      if (event !== undefined) apply(event);
    },
    of: (sessionKey) => shown(byKey.get(sessionKey)),
    inLane: (lane) => shown(byLane.get(lane)),
    openCount: () => byLane.size - ended.size(),
    open: () => [...byLane.values()].filter((row) => row.ended === undefined).map(openRowOf),
    endedSince: (time) => ended.all().flatMap((row) => endedRowOf(row, time) ?? []),
    usualAnswers: usual.mean,
    state: () => ({
      rows: [...byLane.values()].map((row) => storedOf(row, byKey.get(row.fixed.sessionKey) === row)),
      ended: ended.all().map(({ fixed }) => fixed.lane),
      counts: usual.counts(),
    }),
    list: (keyId) =>
      [...byLane.values()]
        .filter(({ fixed }) => fixed.keyId === keyId)
        .map(sessionOf)
        .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1)),
  };
}

/** Positions of answers whose headings were read, but not the records. */
function createNotedAnswers() {
  const rows = new Set<Row>();
  return {
    add: (row: Row, at: Position): void => {
      row.unread.push(at);
      rows.add(row);
    },
    next: (): Position | undefined => {
      const [row] = rows;
      return row?.unread[0];
    },
    remove: (at: Position): void => {
      for (const row of rows) {
        if (row.unread[0] !== at) continue;
        row.unread.shift();
        if (row.unread.length === 0) rows.delete(row);
        break;
      }
    },
    drop: (row: Row): boolean => rows.delete(row),
    restore: (row: Row): void => {
      if (row.unread.length > 0) rows.add(row);
    },
  };
}

/** Number of sessions in the mean. */
const AVERAGED = 20;
/** Assumed answers of a session until one has ended. */
const FIRST_GUESS = 3;

function createUsualAnswers(from: readonly number[] = []) {
  const counts = [...from];
  return {
    counts: (): readonly number[] => [...counts],
    add: (count: number): void => {
      counts.push(count);
      if (counts.length > AVERAGED) counts.shift();
    },
    mean: (): number =>
      counts.length === 0 ? FIRST_GUESS : counts.reduce((sum, count) => sum + count, 0) / counts.length,
  };
}

type OwnedRow = { readonly fixed: { readonly keyId: string } };

/** The latest ended sessions. Beyond the limit, the access key with the most sessions loses its oldest one. */
function createEndedRows<Row extends OwnedRow>(most: number) {
  /** by access key, in order of their ends */
  const byOwner = new Map<string, Set<Row>>();
  let size = 0;
  const remove = (row: Row): void => {
    const { keyId } = row.fixed;
    const rowsOfKey = byOwner.get(keyId);
    if (!rowsOfKey?.delete(row)) return;
    size -= 1;
    if (rowsOfKey.size === 0) byOwner.delete(keyId);
  };
  return {
    size: () => size,
    all: (): readonly Row[] => [...byOwner.values()].flatMap((rowsOfKey) => [...rowsOfKey]),
    /** @returns the row that was removed to make space, if any */
    add: (row: Row): Row | undefined => {
      remove(row);
      const rowsOfKey = byOwner.get(row.fixed.keyId) ?? new Set();
      byOwner.set(row.fixed.keyId, rowsOfKey.add(row));
      size += 1;
      if (size <= most) return undefined;
      const largest = [...byOwner.values()].reduce((most, rows) => (rows.size > most.size ? rows : most));
      const [oldest] = largest;
      remove(oldest!);
      return oldest;
    },
  };
}
