import type { WordsErased } from '../../../shared/events/words-erased.ts';
import { type Audited, placeName, type ReportViolation } from './audited.ts';

/**
 * Checks that each record without its words belongs to an erasure that the log names, and that there are no more of
 * them than it counted: otherwise somebody else took them.
 */
export function createErasureCheck(violation: ReportViolation, erasures: readonly WordsErased[]) {
  const counted = new Map<string, number>(
    erasures.flatMap(({ time, data }) =>
      data.chains.map(({ topic, partition, records }) => [`${time} ${topic}/${partition}`, records] as const),
    ),
  );
  const found = new Map<string, number>();
  return (record: Audited): void => {
    const { event, topic, at } = record;
    if (event.erased === undefined) return;
    const erasure = `${event.erased} ${topic}/${at.partition}`;
    const count = (found.get(erasure) ?? 0) + 1;
    found.set(erasure, count);
    const allowed = counted.get(erasure) ?? 0;
    if (allowed === 0)
      violation(`${placeName(record)} is marked as erased at ${event.erased}, but no erasure names it`);
    else if (count === allowed + 1)
      violation(
        `more records of ${topic}/${at.partition} are marked as erased at ${event.erased} than the ${allowed} that were`,
      );
  };
}
