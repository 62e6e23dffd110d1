import { pause } from '../../../shared/lang/async.ts';
import { backoffDelay } from '../../../shared/queue/backoff.ts';
import type { JobQueueSettings } from '../../../shared/queue/job-queue.ts';
import { JudgeError } from '../errors.ts';
import type { Judge, Opinion } from '../judges/judge.ts';
import { describeResult, type ExamResult } from './exam.ts';
import type { Sitting } from './sitting.ts';

type Standing = 'not examined' | 'passed' | 'failed';

export type Examined = Judge & {
  /** Repeats the exam until there is a result and reports it. Resolves then, or when the signal aborts. */
  readonly examine: (signal: AbortSignal) => Promise<void>;
};

export type ExamProgress =
  | { readonly kind: 'result'; readonly result: ExamResult; readonly text: string }
  /** The exam continues later. `vain`: attempts in a row without any answer. */
  | { readonly kind: 'unfinished'; readonly error: unknown; readonly vain: number; readonly text: string };

type Parts = {
  readonly judge: Judge;
  /** judges until the examined judge has passed, and permanently if it fails; absent: no verdicts until then */
  readonly standIn: Judge | undefined;
  /** for the operator, about a judge that fails, is too slow, or does not answer */
  readonly advice: Advice;
  readonly sitting: Sitting;
  readonly report: (progress: ExamProgress) => void;
  /** wait between two attempts at an unfinished exam */
  readonly retries: Pick<JobQueueSettings, 'backoffMs' | 'maxBackoffMs' | 'jitter'>;
  /** waits; tests replace it */
  readonly wait?: typeof pause;
};

type Advice = { readonly failed: string; readonly tooSlow: string; readonly unfinished: string };

/** Time limit of the stand-in, which is faster than a judge with a model. ms */
const STAND_IN_MS = 60_000;
const within = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(STAND_IN_MS)]);

const noCost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };

/**
 * A judge whose verdicts count after it has passed an exam. Until then the stand-in casts the first vote of a turn;
 * the others are null, because the stand-in is deterministic. Without a stand-in all votes are null.
 */
export function examinedJudge(parts: Parts): Examined {
  const { judge, standIn, advice, sitting, report, retries, wait = pause } = parts;
  let standing: Standing = 'not examined';

  /** Without a stand-in a vote waits for the exam: it throws and is retried. */
  const waitForExam = (): void => {
    if (standIn === undefined && standing === 'not examined')
      throw JudgeError.JUDGE_UNREACHABLE({ reason: 'its exam has not finished' });
  };
  const standInVote: Judge['vote'] = async (turn, index, signal) => {
    waitForExam();
    if (standIn !== undefined && index === 0) return standIn.vote(turn, index, within(signal));
    const text =
      standIn === undefined ? `the judge is ${standingNames[standing]}` : 'the first vote is the only one';
    return { vote: null, text, cost: noCost } satisfies Opinion;
  };

  const consequence = standIn === undefined ? 'no verdicts count' : `${standIn.name} judges instead`;
  const outcome = ({ passed, tooSlow }: ExamResult): string =>
    passed ? 'its verdicts count' : `${consequence}; ${tooSlow ? advice.tooSlow : advice.failed}`;
  const unfinished = (error: unknown): string => {
    const reason = error instanceof Error ? error.message : 'unknown';
    return `the exam of ${judge.name} has not finished (${reason}): until then ${consequence}; ${advice.unfinished}`;
  };

  return {
    ...judge,
    vote: (turn, index, signal) =>
      standing === 'passed' ? judge.vote(turn, index, signal) : standInVote(turn, index, signal),
    step: async (turn, index, signal) => {
      if (standing === 'passed' && judge.step !== undefined) return judge.step(turn, index, signal);
      waitForExam();
      return { vote: null, text: `the judge is ${standingNames[standing]}`, cost: noCost };
    },
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
          report({ kind: 'result', result, text: `${name}: ${describeResult(result)}: ${outcome(result)}` });
        } catch (error) {
          if (signal.aborted) return;
          vain = sitting.answered() > before ? 1 : vain + 1;
          report({ kind: 'unfinished', error, vain, text: unfinished(error) });
          await wait(backoffDelay(retries, vain, Math.random()), signal);
        }
      }
      if (standing === 'failed') await judge.close?.(); // a failed judge is not asked again
    },
  };
}
const standingNames: Readonly<Record<Standing, string>> = {
  'not examined': 'not examined yet',
  passed: 'examined',
  failed: 'without a passed exam',
};
