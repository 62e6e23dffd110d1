import PQueue, { TimeoutError } from 'p-queue';
import { isServiceError } from '../../../shared/service/errors.ts';
import { JudgeError } from '../errors.ts';
import type { Judge } from '../judges/judge.ts';
import { type ExamResult, type ExamVote, type Exchange, isDecided, resultOf, turnOf } from './exam.ts';

type Settings = {
  /** exchanges at a time */
  readonly concurrency: number;
  /** ms per exchange */
  readonly timeLimitMs: number;
  /** The judge asks a server, which may be away and come back. */
  readonly asksServer: boolean;
};

export type Sitting = {
  /**
   * Asks what has not been answered, until the result is certain. What is answered counts in the next call too. Throws
   * what the judge throws when it gives no answer, JUDGE_SILENT, or the signal's reason.
   */
  readonly sit: (signal: AbortSignal) => Promise<ExamResult>;
  /** exchanges that the judge has answered so far */
  readonly answered: () => number;
};

/**
 * One exam of one judge. An exchange that is not answered within the time limit counts as not understood. Where
 * a server has answered nothing since that exchange was first asked, the server is away instead, and the exchange is asked
 * again in the next call, after all others.
 */
export function openSitting(
  judge: Pick<Judge, 'vote'>,
  exchanges: readonly Exchange[],
  { concurrency, timeLimitMs, asksServer }: Settings,
): Sitting {
  const votes: (ExamVote | undefined)[] = [];
  let order = [...exchanges.keys()];
  let answered = 0;
  /** answers that there were when an exchange was first asked */
  const before = new Map<number, number>();

  /** What ended the exchange without an answer; undefined: it is merely late. */
  const failureOf = (index: number, error: unknown): unknown => {
    if (!(error instanceof TimeoutError)) return error;
    const isAlive = answered > (before.get(index) ?? 0);
    if (isAlive || !asksServer) return undefined;
    return JudgeError.JUDGE_SILENT({ seconds: timeLimitMs / 1000 });
  };

  const sit = async (signal: AbortSignal): Promise<ExamResult> => {
    // p-queue holds the time limit, also of a judge that ignores its signal
    const line = new PQueue({ concurrency, timeout: timeLimitMs });
    let failure: unknown;
    const decided = new AbortController();
    const until = AbortSignal.any([signal, decided.signal]);
    const ask = async (index: number): Promise<void> => {
      try {
        await line.add(
          async ({ signal: limit = until }) => {
            if (!before.has(index)) before.set(index, answered);
            const vote = await voteOn(judge, turnOf(index, exchanges[index]!), limit);
            if (limit.aborted) return; // it came too late
            votes[index] = vote;
            answered += 1;
          },
          { signal: until },
        );
      } catch (error) {
        const reason = failureOf(index, error);
        if (reason === undefined) votes[index] = 'late';
        else order = [...order.filter((other) => other !== index), index];
        failure ??= reason;
        if (isDecided(exchanges, votes)) decided.abort();
      }
    };
    const open = order.filter((index) => votes[index] === undefined);
    const work = async () => {
      // after a failure those that run end in their own time, and none is begun
      for (let next = open.shift(); next !== undefined; next = open.shift()) {
        if (failure !== undefined || until.aborted) return;
        await ask(next);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    signal.throwIfAborted();
    if (failure !== undefined && !decided.signal.aborted) throw failure;
    return resultOf(exchanges, votes);
  };

  return { sit, answered: () => answered };
}

/** A server that finds the question too long, or its own answer none, has given no verdict; nor has a model that fails on it. */
async function voteOn(judge: Pick<Judge, 'vote'>, turn: ReturnType<typeof turnOf>, signal: AbortSignal) {
  try {
    return (await judge.vote(turn, 0, signal)).vote;
  } catch (error) {
    const { code = '', message = '' } = isServiceError(error) ? error : {};
    const isNone = code === 'judge_garbage' || code === 'model_failed';
    if (isNone || (code === 'judge_refused' && /\b4(?:00|13|22)\b/.test(message))) return null;
    throw error;
  }
}
