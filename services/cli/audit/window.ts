import type { Topic } from '../../../shared/events/define-event.ts';
import type { Position } from '../../../shared/events/position.ts';
import type { Audited } from './audited.ts';

export type Gap = {
  readonly topic: Topic;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
};

/** Tracks which offsets of each partition were read and which were not. */
export function openWindow() {
  const next = new Map<string, number>();
  const gaps: Gap[] = [];
  /** by topic and partition */
  const firstTimes = new Map<Topic, Map<number, number>>();
  let lastTime = Number.NEGATIVE_INFINITY;

  const upTo = (topic: Topic, { partition, offset }: Position): void => {
    const name = `${topic}/${partition}`;
    const from = next.get(name) ?? 0;
    if (offset > from) gaps.push({ topic, partition, from, to: offset });
    next.set(name, Math.max(from, offset));
  };

  return {
    on: ({ topic, at, time }: Audited): void => {
      upTo(topic, at);
      next.set(`${topic}/${at.partition}`, at.offset + 1);
      const times = firstTimes.get(topic) ?? new Map<number, number>();
      firstTimes.set(topic, times);
      if (!times.has(at.partition)) times.set(at.partition, time);
      lastTime = Math.max(lastTime, time);
    },
    /** Offsets between the first kept one and the end that were not read. */
    gaps: (topic: Topic, starts: readonly number[], ends: readonly number[]): readonly Gap[] => {
      for (const [partition, offset] of ends.entries()) upTo(topic, { partition, offset });
      return gaps
        .filter((gap) => gap.topic === topic)
        .map((gap) => ({ ...gap, from: Math.max(gap.from, starts[gap.partition] ?? 0) }))
        .filter(({ from, to }) => from < to);
    },
    /** append time from which on every partition of a topic was read, ms since 1970 */
    wholeSince: (topic: Topic): number =>
      Math.max(...(firstTimes.get(topic)?.values() ?? [Number.POSITIVE_INFINITY])),
    /** append time of the latest record read, ms since 1970 */
    lastTime: (): number => lastTime,
  };
}
