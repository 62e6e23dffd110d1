import { Worker } from 'node:worker_threads';
import { type Topic, topics } from '../../events/define-event.ts';
import { type LogErrorName, logError } from '../errors.ts';
import type { LostRecords } from '../following.ts';
import { inTurns } from './in-turns.ts';
import type { CallName, Calls, FromWorker, Lease, SentError, ToWorker, WorkerOptions } from './protocol.ts';

export type Store = {
  readonly logId: string;
  readonly partitions: number;
  /** Of the ends of partitions, as they were found. */
  readonly lost: readonly LostRecords[];
  /**
   * Rejects with LogUnavailable if there is no answer `timeoutMs` after the request's own deadline has
   * passed: the thread hangs, as it does when the disk does. What was asked for may still happen.
   */
  readonly call: <Name extends CallName>(
    name: Name,
    request: Calls[Name]['request'],
    timeoutMs?: number,
  ) => Promise<Calls[Name]['response']>;
  /** First free offsets, as last heard: never ahead of the truth. */
  readonly ends: (topic: Topic) => readonly number[];
  /** Called whenever `ends` changed. Returns its undoing. */
  readonly onEnds: (listener: () => void) => () => void;
  /** What each member is to work on. */
  readonly onLeases: (member: string, listener: (leases: readonly Lease[]) => void) => () => void;
  /** Rejects if the thread dies. */
  readonly broken: Promise<never>;
  readonly close: () => Promise<void>;
};

type Pending = { readonly resolve: (response: never) => void; readonly reject: (error: Error) => void };

/** The caller's side of the thread that owns the database. */
export async function openStore(options: WorkerOptions): Promise<Store> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: options });
  const pending = new Map<number, Pending>();
  const ends = new Map<Topic, readonly number[]>();
  const endsListeners = new Set<() => void>();
  const leaseListeners = new Map<string, (leases: readonly Lease[]) => void>();
  const lastLeases = new Map<string, readonly Lease[]>();
  let calls = 0;
  let ended: Error | undefined;

  const opening = Promise.withResolvers<Pick<Store, 'logId' | 'partitions' | 'lost'>>();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);

  const end = (error: Error) => {
    ended ??= error;
    opening.reject(ended);
    broken.reject(ended);
    for (const { reject } of pending.values()) reject(ended);
    pending.clear();
  };

  worker.on('error', (error) =>
    end(logError('LogUnavailable', `the log's thread failed: ${error.message}`, error)),
  );
  worker.on('exit', () => end(logError('LogUnavailable', 'the log is closed')));
  const hear = (message: FromWorker): unknown => {
    switch (message.kind) {
      case 'ready':
        return opening.resolve(message);
      case 'failed':
        end(received(message.error));
        return void worker.terminate();
      case 'reply':
        pending.get(message.id)?.resolve(message.response as never);
        return void pending.delete(message.id);
      case 'refusal':
        pending.get(message.id)?.reject(received(message.error));
        return void pending.delete(message.id);
      case 'ends':
        for (const [topic, of] of message.ends) ends.set(topic, of);
        for (const listener of [...endsListeners]) listener();
        return;
      case 'leases':
        lastLeases.set(message.member, message.leases);
        return leaseListeners.get(message.member)?.(message.leases);
    }
  };
  worker.on('message', (messages: readonly FromWorker[]) => messages.forEach(hear));
  const send = inTurns<ToWorker>(setImmediate, (messages) =>
    worker.postMessage(messages, messages.flatMap(handedOver)),
  );

  const { logId, partitions, lost } = await opening.promise;
  for (const topic of topics) if (!ends.has(topic)) ends.set(topic, Array(partitions).fill(0));

  const call: Store['call'] = (name, request, timeoutMs) => {
    if (ended !== undefined) return Promise.reject(ended);
    calls += 1;
    const id = calls;
    return new Promise((resolve, reject) => {
      const timer =
        timeoutMs === undefined
          ? undefined
          : setTimeout(() => {
              pending.delete(id);
              reject(logError('LogUnavailable', `the log did not answer within ${timeoutMs} ms`));
            }, timeoutMs);
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          how(value);
        };
      pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      send({ id, name, request } as ToWorker);
    });
  };

  return {
    logId,
    partitions,
    lost,
    call,
    ends: (topic) => ends.get(topic)!,
    onEnds: (listener) => {
      endsListeners.add(listener);
      return () => void endsListeners.delete(listener);
    },
    onLeases: (member, listener) => {
      leaseListeners.set(member, listener);
      // They may have come before the answer that named the member was looked at.
      listener(lastLeases.get(member) ?? []);
      return () => {
        leaseListeners.delete(member);
        lastLeases.delete(member);
      };
    },
    broken: broken.promise,
    close: async () => {
      if (ended !== undefined) return;
      const exited = new Promise((resolve) => worker.once('exit', resolve));
      await call('close', null);
      await exited;
    },
  };
}

/** The bytes of records, which the other thread gets without a copy. */
const handedOver = ({ name, request }: ToWorker): readonly ArrayBuffer[] =>
  name === 'append' || name === 'commit'
    ? request.records.body.flatMap((body) => (typeof body === 'string' ? [] : [body.buffer]))
    : [];

const received = ({ name, message }: SentError): Error => logError(name as LogErrorName, message);
