import type { TurnRow } from '../../../shared/views/turn-row.ts';
import type { TurnTable } from '../../../shared/views/turn-table.ts';
import type { TurnView } from '../../../shared/views/turn-view.ts';
import { wishes } from '../../../shared/wishes/wishes.ts';
import { verdictOf } from './find-turns.ts';
import { type Share, sayWhatIsKnown, shareOf } from './statistics.ts';

type Counted = { good: number; bad: number; neither: number; turns: number };
/** Verdicts of a group of turns; the share leaves out verdicts of 0. */
type Point = Share & Readonly<Counted>;

export type LearningView = {
  readonly sentence: string;
  readonly all: Point;
  readonly versions: readonly (Point & { readonly version: number; readonly from: number })[];
  /** by time, at most MOST_BUCKETS */
  readonly overTime: readonly (Point & {
    readonly from: number;
    readonly to: number;
    readonly versions: readonly [number, number];
  })[];
  readonly complaints: readonly Complaint[];
};

/** A kind of complaint, and how long it has not been heard. */
type Complaint = {
  readonly wish: string;
  readonly hint: string;
  readonly times: number;
  readonly last: number;
  readonly lastTurn: string;
  readonly sessionsSince: number;
};

/** The latest verdicts that the sentence is about. */
const RECENT = 50;
const MOST_BUCKETS = 60;
const HOUR = 3_600_000;
/** ms; lengths of time that people know */
const spans = [HOUR / 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 28 * 24 * HOUR, 364 * 24 * HOUR];

const nothing = (): Counted => ({ good: 0, bad: 0, neither: 0, turns: 0 });
const pointOf = (counted: Counted): Point => ({
  ...counted,
  ...shareOf(counted.good, counted.good + counted.bad),
});

function count(counted: Counted, view: TurnView): void {
  counted.turns += 1;
  const verdict = verdictOf(view);
  if (verdict !== undefined) counted[verdict] += 1;
}

/** What the verdicts on an adapter's live answers say. */
export function learningView(table: TurnTable, adapter: string): LearningView {
  const rows = table.inTime().filter(({ id }) => {
    const view = table.view(id);
    return view.live && view.adapter === adapter;
  });
  const all = nothing();
  const versions = new Map<number, Counted & { from: number }>();
  const recent: ('good' | 'bad')[] = [];
  for (const { id, ms } of rows) {
    const view = table.view(id);
    count(all, view);
    const counted = versions.get(view.version) ?? { ...nothing(), from: ms };
    versions.set(view.version, counted);
    count(counted, view);
    const verdict = verdictOf(view);
    if (view.version > 0 && (verdict === 'good' || verdict === 'bad')) recent.push(verdict);
  }
  const base = versions.get(0) ?? nothing();
  const latest = recent.slice(-RECENT);
  return {
    sentence: sayWhatIsKnown(
      shareOf(base.good, base.good + base.bad),
      shareOf(latest.filter((verdict) => verdict === 'good').length, latest.length),
    ),
    all: pointOf(all),
    versions: [...versions]
      .sort(([a], [b]) => a - b)
      .map(([version, counted]) => ({ version, from: counted.from, ...pointOf(counted) })),
    overTime: overTime(table, rows),
    complaints: complaintsIn(table, rows),
  };
}

function overTime(table: TurnTable, rows: readonly TurnRow[]): LearningView['overTime'] {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return [];
  const span = spans.find((ms) => (last.ms - first.ms) / ms < MOST_BUCKETS) ?? spans.at(-1)!;
  const buckets = new Map<number, Counted & { low: number; high: number }>();
  for (const { id, ms } of rows) {
    const view = table.view(id);
    const at = Math.floor(ms / span) * span;
    const bucket = buckets.get(at) ?? { ...nothing(), low: view.version, high: view.version };
    buckets.set(at, bucket);
    bucket.low = Math.min(bucket.low, view.version);
    bucket.high = Math.max(bucket.high, view.version);
    count(bucket, view);
  }
  return [...buckets].map(([from, { low, high, ...counted }]) => ({
    from,
    to: from + span,
    versions: [low, high],
    ...pointOf(counted),
  }));
}

/** Complaints of known kinds, the one that was silent for the fewest sessions first. */
function complaintsIn(table: TurnTable, rows: readonly TurnRow[]): readonly Complaint[] {
  const heard = new Map<string, Omit<Complaint, 'sessionsSince'> & { readonly index: number }>();
  const lastOfSession = new Map<string, number>();
  for (const [index, { id, ms, wishes: wished }] of rows.entries()) {
    const { session, score } = table.view(id);
    if (session !== '') lastOfSession.set(session, index);
    if (score === undefined || score === null || score >= 0) continue;
    for (const wish of wished) {
      const times = (heard.get(wish)?.times ?? 0) + 1;
      heard.set(wish, { wish, hint: wishes[wish].hint, times, last: ms, lastTurn: id, index });
    }
  }
  return [...heard.values()]
    .map(({ index, ...complaint }) => {
      const own = table.view(complaint.lastTurn).session; // it may go on
      const later = [...lastOfSession].filter(([session, last]) => last > index && session !== own);
      return { ...complaint, sessionsSince: later.length };
    })
    .sort((a, b) => a.sessionsSince - b.sessionsSince);
}
