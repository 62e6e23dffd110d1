import type { TrimmableTopic } from '../events/log-trimmed.ts';
import type { EventLog, Heading, Recorded } from '../log/event-log.ts';
import type { WantedCut } from './choose-cut.ts';

type Scan = {
  readonly note?: (heading: Heading) => void;
  readonly wants?: (heading: Heading) => boolean;
  readonly onRecord?: (record: Recorded) => void;
};

/** Reads the records that the cuts of a topic would remove. Other partitions are left out. */
export async function scanPrefix(
  log: Pick<EventLog, 'follow'>,
  topic: TrimmableTopic,
  cuts: readonly WantedCut[],
  { note, wants = () => false, onRecord = () => undefined }: Scan,
): Promise<void> {
  const until = new Map(
    cuts
      .filter((cut) => cut.topic === topic)
      .map(({ partition, wanted }) => [partition, wanted.offset] as const),
  );
  const open = new Set(until.keys());
  if (open.size === 0) return;
  const stop = new AbortController();
  const reader = (heading: Heading): boolean => {
    const { partition, offset } = heading.at;
    const end = until.get(partition);
    if (end === undefined || offset >= end) {
      open.delete(partition); // a record follows each place, so a scan always gets here
      if (open.size === 0) stop.abort();
      return false;
    }
    note?.(heading);
    return wants(heading);
  };
  const following = log.follow(topic, {}, onRecord, { signal: stop.signal, wants: reader });
  try {
    await Promise.race([following.caughtUp, following.done]);
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    stop.abort();
    await following.done.catch(() => undefined);
  }
}
