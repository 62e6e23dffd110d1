import { readFileSync } from 'node:fs';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';
import { isServiceError } from '../../../shared/service/errors.ts';
import type { Judge } from '../judges/judge.ts';

/** One exchange whose verdict is known. */
export type Exchange = {
  readonly verdict: -1 | 0 | 1;
  readonly request: string;
  readonly answer: string;
  readonly next: string;
};

export type ExamResult = {
  readonly right: number;
  readonly of: number;
  /** complaints that the judge took for praise */
  readonly praised: number;
  readonly complaints: number;
  readonly passed: boolean;
};

/** Who always says the commonest verdict has 19 of 40: that one who guesses as well as that has 26 is one in fifty. */
const LEAST_RIGHT = 0.65;
/** Of the complaints: a praised fault is learned. */
const MOST_PRAISED = 0.15;

/** The exchanges that ship with this version. */
export const readExchanges = (): readonly Exchange[] =>
  readFileSync(new URL('./exchanges.tsv', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [verdict, request, answer, next] = line.split('\t').map((cell) => cell.replaceAll('\\n', '\n'));
      return {
        verdict: Number(verdict) as Exchange['verdict'],
        request: request!,
        answer: answer!,
        next: next!,
      };
    });

/** What a judge makes of known exchanges, a few at a time. Throws what the judge throws when it gives no answer. */
export async function examine(
  judge: Pick<Judge, 'vote'>,
  exchanges: readonly Exchange[],
  concurrency: number,
  signal: AbortSignal,
): Promise<ExamResult> {
  const votes: (-1 | 0 | 1 | null)[] = [];
  let rest = [...exchanges.entries()];
  const work = async () => {
    try {
      for (let one = rest.shift(); one !== undefined; one = rest.shift())
        votes[one[0]] = await voteOn(judge, turnOf(one[0], one[1]), signal);
    } catch (error) {
      rest = []; // the exam begins again: nobody goes on with this one
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: concurrency }, work));
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  return resultOf(exchanges, votes);
}

/** A server that finds the question too long, or its own answer none, has given no verdict; nor has a model that fails on it. */
async function voteOn(judge: Pick<Judge, 'vote'>, turn: TurnCompleted['data'], signal: AbortSignal) {
  try {
    return (await judge.vote(turn, 0, signal)).vote;
  } catch (error) {
    const { code = '', message = '' } = isServiceError(error) ? error : {};
    const isNone = code === 'judge_garbage' || code === 'model_failed';
    if (isNone || (code === 'judge_refused' && /\b4(?:00|13|22)\b/.test(message))) return null;
    throw error;
  }
}

/** Right is right; no verdict is wrong, but no praise. */
export function resultOf(exchanges: readonly Exchange[], votes: readonly (-1 | 0 | 1 | null)[]): ExamResult {
  const right = exchanges.filter(({ verdict }, index) => votes[index] === verdict).length;
  const complaints = exchanges.flatMap(({ verdict }, index) => (verdict === -1 ? [votes[index]] : []));
  const praised = complaints.filter((vote) => vote === 1).length;
  const passed =
    right >= LEAST_RIGHT * exchanges.length && praised <= MOST_PRAISED * Math.max(1, complaints.length);
  return { right, of: exchanges.length, praised, complaints: complaints.length, passed };
}

/** "31 of 40 right, 1 of 17 complaints taken for praise". */
export const describeResult = ({ right, of, praised, complaints }: ExamResult): string =>
  `${right} of ${of} right, ${praised} of ${complaints} complaints taken for praise`;

const turnOf = (index: number, { request, answer, next }: Exchange): TurnCompleted['data'] => ({
  turnId: `exam-${index}`,
  lane: 'exam',
  key: 'exam',
  session: 'exam',
  epoch: 'exam',
  adapter: 'default',
  version: 0,
  settle: 'votes',
  rule: 'conversation',
  sessionBy: 'history',
  messages: [{ role: 'user', content: request }],
  answer: { role: 'assistant', content: answer },
  tokens: {
    promptIds: [],
    responseIds: [],
    logProbs: [],
    effectiveTemperature: 1,
    greedy: false,
    filters: { topP: 1, topK: 0 },
  },
  next: [{ role: 'user', content: next }],
  from: 'next',
  by: 'next',
});
