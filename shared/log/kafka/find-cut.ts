import { monotonicNow } from '../../runtime/clock.ts';
import type { OffsetsOfTopics, TopicOffsets } from './offsets-of-topics.ts';

/** One moment of all topics. */
export type Cut = { readonly starts: TopicOffsets; readonly ends: TopicOffsets };

/** How the wait for a moment without writes ended. `busy`: partitions that moved or had an open transaction. */
export type FoundCut =
  | { readonly kind: 'cut'; readonly cut: Cut }
  | { readonly kind: 'busy'; readonly busy: readonly string[] };

/**
 * Waits for a moment at which nothing is being written, and notes the ends of that moment.
 *
 * It asks for all ends, then for all stable ends, then for all ends again. If all three answers are equal, then between
 * the first and the third no partition got a record, and none had an open transaction. So these ends are the state at one
 * moment: every commit is in it with all its records, rows and positions, or with none; and every record that another
 * record refers to is in it, because the writer of the other had read it before. The starts are of the same moment, so
 * each trim that they show is recorded in it.
 */
export async function findCut(
  ask: OffsetsOfTopics['ask'],
  { patienceMs, signal }: { readonly patienceMs: number; readonly signal: AbortSignal },
): Promise<FoundCut> {
  const deadline = monotonicNow() + patienceMs;
  let before = await ask('end');
  for (;;) {
    const [stable, starts] = await Promise.all([ask('stable'), ask('start')]);
    const after = await ask('end');
    const busy = busyPartitions(before, stable, after);
    if (busy.length === 0) return { kind: 'cut', cut: { starts, ends: before } };
    signal.throwIfAborted();
    if (monotonicNow() > deadline) return { kind: 'busy', busy };
    before = after;
  }
}

/** The partitions that were written to while the three answers came. */
export function busyPartitions(
  before: TopicOffsets,
  stable: TopicOffsets,
  after: TopicOffsets,
): readonly string[] {
  return [...before].flatMap(([topic, ends]) =>
    ends.flatMap((end, partition) =>
      stable.get(topic)?.[partition] === end && after.get(topic)?.[partition] === end
        ? []
        : [`${topic}/${partition}`],
    ),
  );
}
