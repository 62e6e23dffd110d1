import { createMutex, unlessAborted } from '../../../../shared/lang/async.ts';
import { openWorker, type WorkerCalls } from '../../../../shared/runtime/worker-calls.ts';
import { JudgeError } from '../../errors.ts';
import type { Judge } from '../judge.ts';
import { threadExited, whyEnded } from '../thread-errors.ts';
import { boundTurn, type Turn } from './bound-turn.ts';
import { type Signals, signalsJudge } from './signals.ts';
import type { SignalCalls } from './thread-protocol.ts';

/** Heap limit of the thread: enough for the bounded part of a turn. MB */
const HEAP_MB = 256;

type Thread = WorkerCalls<SignalCalls, void>;

/**
 * The rules on their own thread, so that a time limit can stop them and the process stays responsive. All votes
 * share one thread. Aborting a running vote terminates it; the next vote starts another.
 */
export function openSignalsThread(
  module = new URL('./signals-worker.ts', import.meta.url),
  heapMb: number = HEAP_MB,
): Judge {
  const inLine = createMutex();
  let thread: Thread | undefined;

  const start = (): Thread => {
    const one: Thread = openWorker(module, {
      heapMib: heapMb,
      errorOf: (reason) => JudgeError.VOTE_BROKE({ reason: String(reason) }),
      exited: threadExited,
      cutOff: (cause) => JudgeError.VOTE_BROKE({ reason: whyEnded(cause) }),
    });
    one.ended.catch(() => {
      if (thread === one) thread = undefined;
    });
    return one;
  };

  const run = async (turn: Turn, signal: AbortSignal): Promise<Signals> => {
    thread ??= start();
    const one = thread;
    const notStarted = (cause: Error) => {
      throw JudgeError.THREAD_NOT_STARTED({ reason: whyEnded(cause) });
    };
    await unlessAborted(one.ready.catch(notStarted), signal);
    signal.throwIfAborted();
    return unlessAborted(one.call('read', turn), signal, () => {
      if (thread === one) thread = undefined;
      void one.end();
      throw isTimeLimit(signal.reason) ? JudgeError.VOTE_OVERRAN() : signal.reason;
    });
  };

  return {
    ...signalsJudge,
    vote: async (turn, _index, signal) => {
      const bounded = boundTurn(turn);
      const began = performance.now();
      const signals = await inLine(() => run(bounded, signal), signal);
      const milliseconds = performance.now() - began;
      return { ...signals, cost: { promptTokens: 0, completionTokens: 0, milliseconds } };
    },
    close: async () => {
      await thread?.end();
    },
  };
}

/** Both queues abort with a TimeoutError at the time limit; other reasons are shutdown or a dropped job. */
const isTimeLimit = (reason: unknown): boolean => reason instanceof Error && reason.name === 'TimeoutError';
