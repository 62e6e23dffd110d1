import { Worker } from 'node:worker_threads';
import { JudgeError } from '../../errors.ts';
import type { Judge } from '../judge.ts';
import { boundTurn, type Turn } from './bound-turn.ts';
import { createLine } from './in-line.ts';
import { type Signals, signalsJudge } from './signals.ts';
import type { FromThread, ToThread } from './thread-protocol.ts';

/** What the rules read of a turn is bounded, so is what they need for it. MB. */
const HEAP_MB = 256;

type Thread = {
  readonly worker: Worker;
  readonly ready: Promise<void>;
  /** the vote that runs, if one does */
  pending:
    | {
        readonly id: number;
        readonly resolve: (signals: Signals) => void;
        readonly reject: (error: Error) => void;
      }
    | undefined;
};

/**
 * The rules on a thread of their own, where a time limit can end them: the process answers and judges other
 * turns meanwhile. One thread lives through all votes; a vote that is ended takes it along, and the next vote
 * starts another.
 */
export function openSignalsThread(
  module = new URL('./signals-worker.ts', import.meta.url),
  heapMb: number = HEAP_MB,
): Judge {
  const inLine = createLine();
  let thread: Thread | undefined;
  let lastId = 0;

  const start = (): Thread => {
    const worker = new Worker(module, { resourceLimits: { maxOldGenerationSizeMb: heapMb } });
    const ready = Promise.withResolvers<void>();
    ready.promise.catch(() => undefined); // who waits for it is told
    const one: Thread = { worker, ready: ready.promise, pending: undefined };
    const end = (reason: string) => {
      if (thread === one) thread = undefined;
      ready.reject(JudgeError.THREAD_NOT_STARTED({ reason }));
      one.pending?.reject(JudgeError.VOTE_BROKE({ reason }));
      one.pending = undefined;
    };
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'ready') return ready.resolve();
      if (one.pending?.id !== message.id) return;
      if (message.kind === 'signals') one.pending.resolve(message.signals);
      else one.pending.reject(JudgeError.VOTE_BROKE({ reason: message.reason }));
      one.pending = undefined;
    });
    worker.on('error', (error) => end('code' in error ? String(error.code) : error.name));
    worker.on('exit', (code) => end(`its thread ended with code ${code}`));
    return one;
  };

  const run = async (turn: Turn, signal: AbortSignal): Promise<Signals> => {
    thread ??= start();
    const one = thread;
    lastId += 1;
    const id = lastId;
    const answer = Promise.withResolvers<Signals>();
    const isRunning = () => one.pending?.id === id;
    const onAbort = () => {
      if (!isRunning()) return answer.reject(signal.reason);
      if (thread === one) thread = undefined;
      one.pending = undefined;
      void one.worker.terminate();
      answer.reject(isTimeLimit(signal.reason) ? JudgeError.VOTE_OVERRAN() : signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    one.ready.then(() => {
      if (signal.aborted) return;
      one.pending = { id, ...answer };
      one.worker.postMessage({ id, turn } satisfies ToThread);
    }, answer.reject);
    return await answer.promise.finally(() => signal.removeEventListener('abort', onAbort));
  };

  return {
    ...signalsJudge,
    vote: async (turn, _index, signal) => {
      const bounded = boundTurn(turn);
      const began = performance.now();
      const signals = await inLine(signal, () => run(bounded, signal));
      const milliseconds = performance.now() - began;
      return { ...signals, cost: { promptTokens: 0, completionTokens: 0, milliseconds } };
    },
    close: async () => {
      await thread?.worker.terminate();
    },
  };
}

/** Both queues say so; another reason is the end of the service, or a job that was dropped. */
const isTimeLimit = (reason: unknown): boolean => reason instanceof Error && reason.name === 'TimeoutError';
