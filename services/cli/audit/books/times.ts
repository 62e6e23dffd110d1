import { openColumn } from './column.ts';

/** As `toISOString` writes a time. */
const usual = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Times as milliseconds; one that is written in another way is kept as it is. */
export function openTimes() {
  const column = openColumn('double');
  const others = new Map<number, string>();
  return {
    get: (index: number): string => others.get(index) ?? new Date(column.get(index)).toISOString(),
    /** @param time RFC 3339 */
    set: (index: number, time: string): void => {
      column.set(index, Date.parse(time));
      if (!usual.test(time)) others.set(index, time);
    },
  };
}
