import PQueue, { TimeoutError } from 'p-queue';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import { JudgeError } from '../errors.ts';
import type { Judge } from '../judges/judge.ts';
import { type ExamResult, type ExamVote, type Exchange, isDecided, resultOf, turnOf } from './exam.ts';

type Settings = {
  /** exchanges asked concurrently */
  readonly concurrency: number;
  /** time limit per exchange. ms */
  readonly timeLimitMs: number;
  /** The judge asks a server, which may become unreachable for a while. */
  readonly asksServer: boolean;
};

export type Sitting = {
  /**
   * Asks the exchanges without an answer until the result is certain. Answers are kept for the next call.
   * @throws the judge's error when it does not answer, JUDGE_SILENT, or the signal's reason
   */
  readonly sit: (signal: AbortSignal) => Promise<ExamResult>;
  /** number of exchanges answered so far */
  readonly answered: () => number;
};

/**
 * One exam of one judge. An exchange without an answer within the time limit counts as wrong. But if a server has
 * answered nothing since that exchange was first asked, it counts as unreachable: the next call asks the exchange
 * again, after all others.
 */
export function openSitting(
  judge: Pick<Judge, 'vote'>,
  exchanges: readonly Exchange[],
  { concurrency, timeLimitMs, asksServer }: Settings,
): Sitting {
  const votes: (ExamVote | undefined)[] = [];
  let order = [...exchanges.keys()];
  let answered = 0;
  /** by exchange: number of answers when it was first asked */
  const answeredBefore = new Map<number, number>();

  /** The error that ended an exchange; undefined: the answer is merely late. */
  const failureOf = (index: number, error: unknown): unknown => {
    if (!(error instanceof TimeoutError)) return error;
    const isAlive = answered > (answeredBefore.get(index) ?? 0);
    if (isAlive || !asksServer) return undefined;
    return JudgeError.JUDGE_SILENT({ seconds: timeLimitMs / 1000 });
  };

  const sit = async (signal: AbortSignal): Promise<ExamResult> => {
    // p-queue enforces the time limit even if the judge ignores its signal
    const exchangeQueue = new PQueue({ concurrency, timeout: timeLimitMs });
    let failure: unknown;
    const decided = new AbortController();
    const until = AbortSignal.any([signal, decided.signal]);
    const ask = async (index: number): Promise<void> => {
      try {
        await exchangeQueue.add(
          async ({ signal: limit = until }) => {
            if (!answeredBefore.has(index)) answeredBefore.set(index, answered);
            const vote = await voteOn(judge, turnOf(index, exchanges[index]!), limit);
            if (limit.aborted) return; // too late
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
      // after a failure the running exchanges finish, and no other starts
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

/** null if the server rejects the prompt or answers with something else, or if the model fails on the prompt. */
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
