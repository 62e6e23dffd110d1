import { pause } from '../../../shared/log/pause.ts';
import { backoffDelay } from '../../../shared/queue/backoff.ts';
import type { JobQueueSettings } from '../../../shared/queue/job-queue.ts';
import { JudgeError } from '../errors.ts';
import type { Judge, Opinion } from '../judges/judge.ts';
import { describeResult, type ExamResult } from './exam.ts';
import type { Sitting } from './sitting.ts';

type Standing = 'not examined' | 'passed' | 'failed';

export type Examined = Judge & {
  /** Examines the judge until there is a result; `tell` gets it. Resolves with it, or when the signal aborts. */
  readonly examine: (signal: AbortSignal) => Promise<void>;
};

export type Told =
  | { readonly kind: 'result'; readonly result: ExamResult; readonly text: string }
  /** The exam goes on later; `vain` is how many tries in a row have brought no answer. */
  | { readonly kind: 'unfinished'; readonly error: unknown; readonly vain: number; readonly text: string };

type Parts = {
  readonly judge: Judge;
  /** judges until the judge has passed, and for good where it fails; absent: nobody does */
  readonly standIn: Judge | undefined;
  /** what to do about a judge that fails, is too slow, or gives no answer */
  readonly advice: Advice;
  readonly sitting: Sitting;
  readonly tell: (told: Told) => void;
  /** between two tries of an exam that could not be finished */
  readonly retries: Pick<JobQueueSettings, 'backoffMs' | 'maxBackoffMs' | 'jitter'>;
  /** lets that time pass */
  readonly wait?: typeof pause;
};

export type Advice = { readonly failed: string; readonly tooSlow: string; readonly unfinished: string };

/** A stand-in is quick: the time limit of a judge with a model is not for it. ms */
const STAND_IN_MS = 60_000;
const within = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(STAND_IN_MS)]);

const noCost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };

/**
 * A judge whose verdicts count once it has passed an examination. Of several votes the stand-in casts one, since it
 * does not vary; the others are in and say nothing. Without a stand-in all of them say nothing.
 */
export function examinedJudge(parts: Parts): Examined {
  const { judge, standIn, advice, sitting, tell, retries, wait = pause } = parts;
  let standing: Standing = 'not examined';

  /** Without a stand-in a vote waits for the exam: it is tried again. */
  const waitForExam = (): void => {
    if (standIn === undefined && standing === 'not examined')
      throw JudgeError.JUDGE_UNREACHABLE({ reason: 'its exam is not over' });
  };
  const standInVote: Judge['vote'] = async (turn, index, signal) => {
    waitForExam();
    if (standIn !== undefined && index === 0) return standIn.vote(turn, index, within(signal));
    const text = standIn === undefined ? `the judge is ${words[standing]}` : 'the first vote is the only one';
    return { vote: null, text, cost: noCost } satisfies Opinion;
  };

  const who = standIn === undefined ? 'no verdict counts' : `${standIn.name} judges instead`;
  const outcome = ({ passed, tooSlow }: ExamResult): string =>
    passed ? 'its verdicts count' : `${who}; ${tooSlow ? advice.tooSlow : advice.failed}`;
  const unfinished = (error: unknown): string => {
    const reason = error instanceof Error ? error.message : 'unknown';
    return `the exam of ${judge.name} is not finished (${reason}): ${who} until it is; ${advice.unfinished}`;
  };

  return {
    ...judge,
    vote: (turn, index, signal) =>
      standing === 'passed' ? judge.vote(turn, index, signal) : standInVote(turn, index, signal),
    hint: async (turn, index, signal) => {
      if (standing === 'passed' && judge.hint !== undefined) return judge.hint(turn, index, signal);
      waitForExam();
      return { decision: -1, text: '', cost: noCost };
    },
    close: async () => {
      await Promise.all([judge.close?.(), standIn?.close?.()]);
    },
    examine: async (signal) => {
      const { name } = judge;
      for (let vain = 0; !signal.aborted && standing === 'not examined'; ) {
        const before = sitting.answered();
        try {
          const result = await sitting.sit(signal);
          standing = result.passed ? 'passed' : 'failed';
          tell({ kind: 'result', result, text: `${name}: ${describeResult(result)}: ${outcome(result)}` });
        } catch (error) {
          if (signal.aborted) return;
          vain = sitting.answered() > before ? 1 : vain + 1;
          tell({ kind: 'unfinished', error, vain, text: unfinished(error) });
          await wait(backoffDelay(retries, vain, Math.random()), signal);
        }
      }
      if (standing === 'failed') await judge.close?.(); // it is not asked again
    },
  };
}
const words: Readonly<Record<Standing, string>> = {
  'not examined': 'not examined yet',
  passed: 'examined',
  failed: 'without a passed exam',
};
