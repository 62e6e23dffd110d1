import { isLogError } from '../errors.ts';
import type { ProcessOptions } from '../event-log.ts';
import type { Fold } from '../fold.ts';
import type { RejectedRecord, TrimmedRecords } from '../following.ts';
import { pause } from '../pause.ts';
import { processPartition } from './process-partition.ts';
import type { Lease } from './protocol.ts';
import type { Store } from './store.ts';

type Group<Settings> = {
  readonly store: Store;
  readonly fold: Fold<Settings>;
  readonly options: ProcessOptions<Settings>;
  readonly deliveryTimeoutMs: number;
  readonly onRejected: (rejected: RejectedRecord) => void;
  readonly onTrimmed: (trimmed: TrimmedRecords) => void;
};

/**
 * One member of a group: works on the partitions that it holds leases for, and gives them back at once when
 * told to stop.
 */
export async function processGroup<Settings>(group: Group<Settings>, signal: AbortSignal): Promise<void> {
  const { store, fold, options } = group;
  if (signal.aborted) return;
  /** A full disk passes, and so does a lock. Undefined: we were told to stop. */
  const untilTaken = async <Result>(call: () => Promise<Result>): Promise<Result | undefined> => {
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
  const joining = untilTaken(() => store.call('join', { group: options.group, topic: fold.reads }));
  const joined = await Promise.race([joining, store.broken]);
  if (joined === undefined) return;
  const { member } = joined;
  const running = new Map<string, { readonly stop: AbortController; readonly done: Promise<void> }>();
  const failure = Promise.withResolvers<void>();

  /** Nobody else gets the partition before; `leave` frees it in any case. */
  const release = (lease: Lease) => untilTaken(() => store.call('release', { lease }));
  const start = (key: string, lease: Lease) => {
    const stop = new AbortController();
    const done = processPartition({ ...group, lease, stop: stop.signal })
      .then(() => release(lease))
      .catch(failure.reject)
      .then(() => void running.delete(key));
    running.set(key, { stop, done });
  };
  const forget = store.onLeases(member, (leases) => {
    const wanted = new Map(leases.map((lease) => [`${lease.partition}/${lease.generation}`, lease]));
    for (const [key, { stop }] of running) if (!wanted.has(key)) stop.abort();
    for (const [key, lease] of wanted) if (!running.has(key) && !signal.aborted) start(key, lease);
  });

  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  try {
    await Promise.race([stopped, failure.promise, store.broken]);
  } finally {
    forget();
    const stopping = [...running.values()];
    for (const { stop } of stopping) stop.abort();
    await Promise.all(stopping.map(({ done }) => done));
    // If the log is gone, so are the leases: the others see that nothing moves here.
    await store.call('leave', { member }).catch(() => undefined);
  }
}
