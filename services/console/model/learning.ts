import { sum } from '../../../shared/lang/numbers.ts';
import { columnText } from '../../../shared/views/turn-index/index-file.ts';
import { type Complaint, complaintsIn } from './complaints.ts';
import { type Share, sayWhatIsKnown, shareOf } from './statistics.ts';
import { wrongSums } from './turns/count-table.ts';
import { QUARTER_MS, quarterCounts, versionCounts } from './turns/turn-counts.ts';
import { type Ask, checked, type TurnRows } from './turns/turn-rows.ts';

type Counted = {
  readonly good: number;
  readonly bad: number;
  readonly neither: number;
  readonly turns: number;
};
/** Verdicts of a group of turns; the share leaves out verdicts of 0. */
type Point = Share & Counted;

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

/** The latest verdicts that the sentence is about. */
const RECENT = 50;
const MOST_BUCKETS = 60;
const HOUR = 3_600_000;
/** ms; lengths of time that people know */
const spans = [HOUR / 4, HOUR, 6 * HOUR, 24 * HOUR, 7 * 24 * HOUR, 28 * 24 * HOUR, 364 * 24 * HOUR];

const pointOf = (counted: Counted): Point => ({
  ...counted,
  ...shareOf(counted.good, counted.good + counted.bad),
});

const countedIn = (row: Readonly<Record<string, unknown>>): Counted => ({
  good: Number(row.good),
  bad: Number(row.bad),
  neither: Number(row.neither),
  turns: Number(row.turns),
});

/** What the verdicts on an adapter's live answers say. */
export const learningView = (rows: TurnRows, adapter: string): LearningView =>
  rows.read((ask) => {
    const name = columnText(adapter);
    const versions = versionsIn(ask, name);
    const total = (of: keyof Counted): number => sum(versions.map((version) => version[of]));
    const base = versions.find(({ version }) => version === 0) ?? { good: 0, bad: 0 };
    const all = { turns: total('turns'), good: total('good'), bad: total('bad'), neither: total('neither') };
    return {
      sentence: sayWhatIsKnown(shareOf(base.good, base.good + base.bad), latestShare(ask, name)),
      all: pointOf(all),
      versions: versions.map(({ version, from, last: _last, ...counted }) => ({
        version,
        from,
        ...pointOf(counted),
      })),
      overTime: overTime(ask, name, versions),
      complaints: complaintsIn(ask, name),
    };
  });

type CountedVersion = Counted & { readonly version: number; readonly from: number; readonly last: number };

/** @param adapter as a column holds it */
const versionsIn = (ask: Ask, adapter: string): readonly CountedVersion[] =>
  checked(
    ask(
      `SELECT version, turns, good, bad, neither, first, last, sum <> 3 * turns + 5 * good + 7 * bad + 11 * neither AS wrong
       FROM ${versionCounts.name} WHERE adapter = ? ORDER BY version`,
      adapter,
    ),
  ).map((row) => ({
    version: Number(row.version),
    from: Number(row.first),
    last: Number(row.last),
    ...countedIn(row),
  }));

/** Of the latest good and bad verdicts on versions after 0. */
function latestShare(ask: Ask, adapter: string): Share {
  let [good, total, before] = [0, 0, Number.MAX_SAFE_INTEGER];
  while (total < RECENT) {
    const quarters = checked(
      ask(
        `SELECT quarter, sum(good) AS good, sum(bad) AS bad, ${wrongSums(quarterCounts)} AS wrong
         FROM ${quarterCounts.name} WHERE adapter = ? AND quarter < ? AND version > 0
         GROUP BY quarter ORDER BY quarter DESC LIMIT ?`,
        adapter,
        before,
        RECENT,
      ),
    );
    for (const { quarter, good: more, bad } of quarters) {
      before = Number(quarter);
      const [inQuarter, wanted] = [Number(more) + Number(bad), RECENT - total];
      if (inQuarter > wanted)
        return shareOf(good + latestGood(ask, adapter, { quarter: before, wanted }), RECENT);
      good += Number(more);
      total += inQuarter;
    }
    if (quarters.length < RECENT) break;
  }
  return shareOf(good, total);
}

/** Good ones of the latest verdicts of a quarter of an hour. */
function latestGood(
  ask: Ask,
  adapter: string,
  { quarter, wanted }: { readonly quarter: number; readonly wanted: number },
): number {
  const latest = ask(
    `SELECT verdict FROM turns
     WHERE ms >= ? AND ms < ? AND adapter = ? AND live = 1 AND version > 0 AND verdict IN (1, -1)
     ORDER BY ms DESC, id DESC LIMIT ?`,
    quarter * QUARTER_MS,
    (quarter + 1) * QUARTER_MS,
    adapter,
    wanted,
  );
  return latest.filter(({ verdict }) => verdict === 1).length;
}

function overTime(ask: Ask, adapter: string, versions: readonly CountedVersion[]): LearningView['overTime'] {
  if (versions.length === 0) return [];
  const first = versions.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY);
  const last = versions.reduce((most, version) => Math.max(most, version.last), Number.NEGATIVE_INFINITY);
  const span = spans.find((ms) => (last - first) / ms < MOST_BUCKETS) ?? spans.at(-1)!;
  const buckets = checked(
    ask(
      `SELECT quarter / CAST(? AS INTEGER) AS bucket, min(version) AS low, max(version) AS high, sum(turns) AS turns,
         sum(good) AS good, sum(bad) AS bad, sum(neither) AS neither, ${wrongSums(quarterCounts)} AS wrong
       FROM ${quarterCounts.name} WHERE adapter = ? GROUP BY bucket ORDER BY bucket`,
      span / QUARTER_MS,
      adapter,
    ),
  );
  return buckets.map(({ bucket, low, high, ...counted }) => ({
    from: Number(bucket) * span,
    to: (Number(bucket) + 1) * span,
    versions: [Number(low), Number(high)],
    ...pointOf(countedIn(counted)),
  }));
}
