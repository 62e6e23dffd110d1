import { setTimeout } from 'node:timers/promises';
import { JudgeError } from '../errors.ts';
import type { Judge, Opinion } from '../judges/judge.ts';
import { describeResult, type ExamResult } from './exam.ts';

type Standing = 'not examined' | 'passed' | 'failed';

export type Examined = Judge & {
  /** Examines the judge until it has answered; `tell` gets the result. Resolves with it, or when the signal aborts. */
  readonly examine: (signal: AbortSignal) => Promise<void>;
};

type Parts = {
  readonly judge: Judge;
  /** judges until the judge has passed, and for good where it fails; absent: nobody does */
  readonly standIn: Judge | undefined;
  /** names another model to `clawloop up` */
  readonly modelFlag: string;
  readonly exam: (signal: AbortSignal) => Promise<ExamResult>;
  readonly tell: (said: {
    readonly result?: ExamResult;
    readonly error?: unknown;
    readonly text: string;
  }) => void;
  /** between two tries while the judge's server is away */
  readonly retryMs: number;
};

/** A stand-in is quick: the time limit of a judge with a model is not for it. ms */
const STAND_IN_MS = 60_000;
const within = (signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(STAND_IN_MS)]);

const noCost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };

/**
 * A judge whose verdicts count once it has passed an examination. Of several votes the stand-in casts one, since it
 * does not vary; the others are in and say nothing. Without a stand-in all of them say nothing.
 */
export function examinedJudge({ judge, standIn, modelFlag, exam, tell, retryMs }: Parts): Examined {
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
      while (!signal.aborted && standing === 'not examined') {
        try {
          const result = await exam(signal);
          standing = result.passed ? 'passed' : 'failed';
          if (standing === 'failed') await judge.close?.(); // it is not asked again
          tell({
            result,
            text: `${judge.name}: ${describeResult(result)}: ${advice(standing, standIn, modelFlag)}`,
          });
        } catch (error) {
          if (signal.aborted) return;
          tell({ error, text: `${judge.name} does not answer yet: ${advice(standing, standIn, modelFlag)}` });
          await setTimeout(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
        }
      }
    },
  };
}

const words: Readonly<Record<Standing, string>> = {
  'not examined': 'not examined yet',
  passed: 'examined',
  failed: 'no better than chance',
};

function advice(standing: Standing, standIn: Judge | undefined, modelFlag: string): string {
  if (standing === 'passed') return 'its verdicts count';
  const until = standing === 'failed' ? '' : ' until then';
  const who = standIn === undefined ? 'no verdict counts' : `${standIn.name} judges instead`;
  const then =
    standing === 'failed' ? `; name a larger model with ${modelFlag}, or use --judge-kind ear` : '';
  return `${who}${until}${then}`;
}
