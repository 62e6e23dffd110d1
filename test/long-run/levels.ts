import { growthOf } from '../soak/trend.ts';
import type { Reading } from './readings.ts';

/** A series that must not grow. */
type Series = {
  readonly name: string;
  readonly of: (reading: Reading) => number | undefined;
  /** Allowed growth, as a share of the series' middle, but at least `least`. */
  readonly share: number;
  readonly least: number;
  /** From this hour on; default: the first judged hour. */
  readonly from?: number;
};

export type Level = {
  readonly name: string;
  /** Over all judged hours, along the median slope. */
  readonly growth: number;
  readonly allowed: number;
  readonly middle: number;
};

/** By then, a day of sessions has come and gone. */
const FIRST_JUDGED_HOUR = 36;
/**
 * A trim keeps a day. A lane in daily use holds its settled turns for a day and two pauses overnight. Until then, the
 * log grows.
 */
const FIRST_TRIMMED_HOUR = 54;
/** Above this load per core, other programs decide how long an answer takes. */
const MOST_LOAD = 3;
/** With fewer hours a slope means little. */
const LEAST_HOURS = 12;

const inPeace = (of: (reading: Reading) => number) => (reading: Reading) =>
  reading.load > MOST_LOAD ? undefined : of(reading);
const memory = (name: string): Series => ({
  name: `memory of ${name}, MiB`,
  of: (reading) => reading.memory[name],
  share: 0.25,
  least: 64,
});
const series: readonly Series[] = [
  ...['serving', 'collector', 'judge', 'trainer', 'console'].map(memory),
  ...(['conversations', 'turns'] as const).map((topic) => ({
    name: `records of ${topic}, MiB`,
    of: ({ recordMib }: Reading) => recordMib[topic],
    share: 0.3,
    least: 1,
    from: FIRST_TRIMMED_HOUR,
  })),
  { name: 'checkpoints, MiB', of: ({ disk }) => disk.checkpoints, share: 0.25, least: 64 },
  { name: 'other files, MiB', of: ({ disk }) => disk.other, share: 0.25, least: 8 },
  { name: 'rows', of: ({ rows }) => rows, share: 0.3, least: 500, from: FIRST_TRIMMED_HOUR },
  { name: 'lanes', of: ({ lanes }) => lanes, share: 0.3, least: 20, from: FIRST_TRIMMED_HOUR },
  { name: 'median of an answer, ms', of: inPeace(({ medianMs }) => medianMs), share: 0.5, least: 200 },
  { name: '95th percentile of an answer, ms', of: inPeace(({ p95Ms }) => p95Ms), share: 1, least: 1_000 },
];

/** Growth of each series after the first days. A series with too few hours is left out. */
export function levelsOf(readings: readonly Reading[]): readonly Level[] {
  return series.flatMap(({ name, of, share, least, from = FIRST_JUDGED_HOUR }) => {
    const late = readings.filter(({ hour }) => hour > from).map(of);
    const values = late.filter((value): value is number => value !== undefined && Number.isFinite(value));
    if (values.length < LEAST_HOURS) return [];
    const middle = [...values].sort((a, b) => a - b)[values.length >> 1]!;
    return [{ name, growth: growthOf(values), allowed: Math.max(least, share * middle), middle }];
  });
}
