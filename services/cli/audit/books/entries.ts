import type { InteractionCompleted } from '../../../../shared/events/interaction-completed.ts';
import type { Books } from './books.ts';
import { openColumn } from './column.ts';

export type Counter = (typeof counters)[number];
/** What the log has of an interaction, or of a revised sample. */
export type Entry = Readonly<Record<Counter, number>> & {
  readonly lane: string;
  /** append time of its latest event, ms since 1970 */
  readonly since: number;
  readonly byReward: boolean;
  readonly live: boolean;
  readonly seen: boolean;
  readonly tooLate: boolean;
  readonly continued: boolean;
};

const counters = ['skipped', 'completed', 'judged', 'ready', 'dropped', 'batches', 'returned'] as const;
const marks = ['exists', 'seen', 'live', 'byReward', 'tooLate', 'continued'] as const;
type Mark = (typeof marks)[number];

/** Entries in columns, by the number of the item. */
export function openEntries({ names }: Books) {
  const [lanes, since, marked] = [openColumn('int'), openColumn('double'), openColumn('byte')];
  const counts = counters.map(() => openColumn('short'));
  const countOf = (counter: Counter) => counts[counters.indexOf(counter)]!;
  const bitOf = (mark: Mark): number => 1 << marks.indexOf(mark);
  const isMarked = (item: number, mark: Mark): boolean => (marked.get(item) & bitOf(mark)) !== 0;
  const mark = (item: number, ...added: readonly Mark[]): void =>
    marked.set(
      item,
      ['exists' as const, ...added].reduce((bits, one) => bits | bitOf(one), marked.get(item)),
    );

  return {
    mark,
    count: (item: number, counter: Counter): void => {
      mark(item);
      countOf(counter).set(item, countOf(counter).get(item) + 1);
    },
    has: (item: number, counter: Counter): boolean => countOf(counter).get(item) > 0,
    /** @param time of its latest event, ms since 1970 */
    touch: (item: number, time: number): void => since.set(item, time),
    see: (item: number, { lane, live, settle }: InteractionCompleted['data']): void => {
      lanes.set(item, names.add(lane) + 1);
      marked.set(item, marked.get(item) & ~(bitOf('live') | bitOf('byReward')));
      mark(
        item,
        'seen',
        ...(live ? ['live' as const] : []),
        ...(settle === 'reward' ? ['byReward' as const] : []),
      );
    },
    get: (item: number): Entry | undefined => {
      if (item < 0 || !isMarked(item, 'exists')) return undefined;
      const lane = lanes.get(item);
      const [skipped, completed, judged, ready, dropped, batches, returned] = counts.map((count) =>
        count.get(item),
      );
      return {
        lane: lane === 0 ? '' : names.nameOf(lane - 1),
        since: since.get(item),
        byReward: isMarked(item, 'byReward'),
        live: isMarked(item, 'live'),
        seen: isMarked(item, 'seen'),
        tooLate: isMarked(item, 'tooLate'),
        continued: isMarked(item, 'continued'),
        skipped: skipped!,
        completed: completed!,
        judged: judged!,
        ready: ready!,
        dropped: dropped!,
        batches: batches!,
        returned: returned!,
      };
    },
  };
}
