import { Worker } from 'node:worker_threads';
import { type Topic, topics } from '../../events/define-event.ts';
import { withDeadline } from '../../lang/async.ts';
import { type LogErrorName, logError } from '../errors.ts';
import type { LostRecords } from '../following.ts';
import { inTurns } from './in-turns.ts';
import type { CallName, Calls, FromWorker, Lease, SentError, ToWorker, WorkerOptions } from './protocol.ts';

export type Store = {
  readonly logId: string;
  readonly partitions: number;
  /** Records that are missing at the ends of partitions. */
  readonly lost: readonly LostRecords[];
  /**
   * Rejects with LogUnavailable if there is no answer within `timeoutMs`: the thread hangs, for example because
   * the disk hangs. The call may still take effect.
   */
  readonly call: <Name extends CallName>(
    name: Name,
    request: Calls[Name]['request'],
    timeoutMs?: number,
  ) => Promise<Calls[Name]['response']>;
  /** First free offsets as of the last report: never ahead of the log. */
  readonly ends: (topic: Topic) => readonly number[];
  /** Calls `listener` whenever `ends` changes. Returns a function that removes the listener. */
  readonly onEnds: (listener: () => void) => () => void;
  /** Reports the leases of a member. Returns a function that removes the listener. */
  readonly onLeases: (member: string, listener: (leases: readonly Lease[]) => void) => () => void;
  /** Rejects if the thread dies. */
  readonly broken: Promise<never>;
  readonly close: () => Promise<void>;
};

/** The caller's side of the thread that owns the database. */
export async function openStore(options: WorkerOptions): Promise<Store> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: options });
  const pending = openPending();
  const ends = openEnds();
  const leases = openLeases();
  let failure: Error | undefined;

  const opening = Promise.withResolvers<Pick<Store, 'logId' | 'partitions' | 'lost'>>();
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);

  const end = (error: Error) => {
    failure ??= error;
    opening.reject(failure);
    broken.reject(failure);
    pending.rejectAll(failure);
  };

  worker.on('error', (error) =>
    end(logError('LogUnavailable', `the log's thread failed: ${error.message}`, error)),
  );
  worker.on('exit', () => end(logError('LogUnavailable', 'the log is closed')));
  const receive = (message: FromWorker): unknown => {
    switch (message.kind) {
      case 'ready':
        return opening.resolve(message);
      case 'failed':
        end(errorFrom(message.error));
        return void worker.terminate();
      case 'reply':
        return pending.resolve(message.id, message.response);
      case 'refusal':
        return pending.reject(message.id, errorFrom(message.error));
      case 'ends':
        return ends.update(message.ends);
      case 'leases':
        return leases.update(message.member, message.leases);
    }
  };
  worker.on('message', (messages: readonly FromWorker[]) => messages.forEach(receive));
  const send = inTurns<ToWorker>(setImmediate, (messages) =>
    worker.postMessage(messages, messages.flatMap(transferred)),
  );

  const { logId, partitions, lost } = await opening.promise;
  ends.fill(partitions);

  const call: Store['call'] = (name, request, timeoutMs) => {
    if (failure !== undefined) return Promise.reject(failure);
    const { id, promise } = pending.add();
    send({ id, name, request } as ToWorker);
    if (timeoutMs === undefined) return promise;
    return withDeadline(promise, timeoutMs, () => {
      pending.forget(id);
      throw logError('LogUnavailable', `the log did not answer within ${timeoutMs} ms`);
    });
  };
  const close = async () => {
    if (failure !== undefined) return;
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    await call('close', null);
    await exited;
  };

  const { of, listen } = ends;
  return {
    logId,
    partitions,
    lost,
    call,
    ends: of,
    onEnds: listen,
    onLeases: leases.listen,
    broken: broken.promise,
    close,
  };
}

type Waiting = { readonly resolve: (response: never) => void; readonly reject: (error: Error) => void };

/** The calls without a reply. */
function openPending() {
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  return {
    add: () => {
      calls += 1;
      const { promise, resolve, reject } = Promise.withResolvers<never>();
      waiting.set(calls, { resolve, reject });
      return { id: calls, promise };
    },
    resolve: (id: number, response: unknown): void => {
      waiting.get(id)?.resolve(response as never);
      waiting.delete(id);
    },
    reject: (id: number, error: Error): void => {
      waiting.get(id)?.reject(error);
      waiting.delete(id);
    },
    rejectAll: (error: Error): void => {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
    forget: (id: number): void => void waiting.delete(id),
  };
}

/** The last known first free offsets, and listeners to their changes. */
function openEnds() {
  const ends = new Map<Topic, readonly number[]>();
  const listeners = new Set<() => void>();
  return {
    of: (topic: Topic): readonly number[] => ends.get(topic)!,
    /** Topics without a report yet are empty. */
    fill: (partitions: number): void => {
      for (const topic of topics) if (!ends.has(topic)) ends.set(topic, Array(partitions).fill(0));
    },
    update: (changes: readonly (readonly [topic: Topic, ends: readonly number[]])[]): void => {
      for (const [topic, endsOfTopic] of changes) ends.set(topic, endsOfTopic);
      for (const listener of [...listeners]) listener();
    },
    listen: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

type LeaseListener = (leases: readonly Lease[]) => void;

/** The last leases of each member, and its listener. */
function openLeases() {
  const lastLeases = new Map<string, readonly Lease[]>();
  const listeners = new Map<string, LeaseListener>();
  return {
    update: (member: string, leases: readonly Lease[]): void => {
      lastLeases.set(member, leases);
      listeners.get(member)?.(leases);
    },
    listen: (member: string, listener: LeaseListener) => {
      listeners.set(member, listener);
      // Leases may arrive before the caller has processed the reply that names the member.
      listener(lastLeases.get(member) ?? []);
      return () => {
        listeners.delete(member);
        lastLeases.delete(member);
      };
    },
  };
}

/** The bodies of records, which are transferred to the other thread without a copy. */
const transferred = ({ name, request }: ToWorker): readonly ArrayBuffer[] =>
  name === 'append' || name === 'commit'
    ? request.records.body.flatMap((body) => (typeof body === 'string' ? [] : [body.buffer]))
    : [];

const errorFrom = ({ name, message }: SentError): Error => logError(name as LogErrorName, message);
