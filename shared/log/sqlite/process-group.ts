import { pause, unlessAborted } from '../../lang/async.ts';
import { isLogError } from '../errors.ts';
import type { ProcessOptions } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
import { runPartitions } from '../running-partitions.ts';
import type { Troubles } from '../troubles.ts';
import { processPartition } from './process-partition.ts';
import type { Lease } from './protocol.ts';
import type { Store } from './store.ts';

type Group<Settings> = {
  readonly store: Store;
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly troubles: Troubles;
  readonly deliveryTimeoutMs: number;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
};

/** Runs one member of a group: folds the partitions that it leases, and releases them when the signal aborts. */
export async function processGroup<Settings>(group: Group<Settings>, signal: AbortSignal): Promise<void> {
  const { store, fold, options } = group;
  if (signal.aborted) return;
  /** Retries while the log is unavailable (full disk, locked file). Undefined: the signal aborted. */
  const untilDone = async <Result>(call: () => Promise<Result>): Promise<Result | undefined> => {
    while (!signal.aborted) {
      try {
        return await call();
      } catch (error) {
        if (!isLogError(error, 'LogUnavailable')) throw error;
        await pause(500, signal);
      }
    }
    return undefined;
  };
  const joining = untilDone(() => store.call('join', { group: options.group, topic: fold.reads }));
  const joined = await Promise.race([joining, store.broken]);
  if (joined === undefined) return;
  const { member } = joined;
  const running = runPartitions(async (lease: Lease, stop) => {
    await processPartition({ ...group, lease, stop });
    // No other member gets the partition before this; `leave` frees it in any case.
    await untilDone(() => store.call('release', { lease }));
  }, signal);
  const forget = store.onLeases(member, (leases) =>
    running.workOn(new Map(leases.map((lease) => [`${lease.partition}/${lease.generation}`, lease]))),
  );

  try {
    await unlessAborted(Promise.race([running.failed, store.broken]), signal, () => {});
  } finally {
    forget();
    await running.stop();
    // Ignore errors: without a log there are no leases, and other members detect that this process stopped.
    await store.call('leave', { member }).catch(() => undefined);
  }
}
