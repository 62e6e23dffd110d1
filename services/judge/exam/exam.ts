import { readFileSync } from 'node:fs';
import type { TurnCompleted } from '../../../shared/events/turn-completed.ts';

/** An exchange with a known verdict. */
export type Exchange = {
  readonly verdict: -1 | 0 | 1;
  readonly request: string;
  readonly answer: string;
  readonly next: string;
};

/** The judge's vote on an exchange: a verdict; null: an answer without one; late: no answer in time. */
export type ExamVote = -1 | 0 | 1 | null | 'late';

export type ExamResult = {
  readonly right: number;
  readonly of: number;
  /** complaints that the judge rated as praise */
  readonly praised: number;
  readonly complaints: number;
  /** exchanges without an answer in time, plus those that were not asked as a consequence */
  readonly unanswered: number;
  readonly passed: boolean;
  /** failed, but could have passed if no answer had been late */
  readonly tooSlow: boolean;
};

/** Always giving the most common verdict is right in 19 of 40; guessing that well reaches 26 once in fifty exams. */
const LEAST_RIGHT = 0.65;
/** Maximum share of complaints rated as praise: the policy would learn the fault. */
const MOST_PRAISED = 0.15;

/** Reads the exchanges that ship with this version. */
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

/** By index of the exchange; undefined: not asked yet. */
type ExamVotes = readonly (ExamVote | undefined)[];

/** A vote without a verdict and a late answer count as wrong, but not as praise. */
export function resultOf(exchanges: readonly Exchange[], votes: ExamVotes): ExamResult {
  const counts = countsOf(exchanges, votes);
  const passed = hasPassed(counts);
  const inTime = exchanges.map(({ verdict }, index) => orWhereOpen(answerOf(votes[index]), verdict));
  const tooSlow = !passed && counts.unanswered > 0 && hasPassed(countsOf(exchanges, inTime));
  return { ...counts, passed, tooSlow };
}

/** Whether the exchanges that have not been asked cannot change whether the judge passes. */
export function isDecided(exchanges: readonly Exchange[], votes: ExamVotes): boolean {
  const best = exchanges.map(({ verdict }, index) => orWhereOpen(votes[index], verdict));
  const worst = exchanges.map(({ verdict }, index) => orWhereOpen(votes[index], verdict === -1 ? 1 : null));
  return hasPassed(countsOf(exchanges, best)) === hasPassed(countsOf(exchanges, worst));
}

const orWhereOpen = (vote: ExamVote | undefined, instead: ExamVote): ExamVote =>
  vote === undefined ? instead : vote;
/** undefined: there is none */
const answerOf = (vote: ExamVote | undefined) => (vote === 'late' ? undefined : vote);

type Counts = Omit<ExamResult, 'passed' | 'tooSlow'>;

function countsOf(exchanges: readonly Exchange[], votes: ExamVotes): Counts {
  const right = exchanges.filter(({ verdict }, index) => votes[index] === verdict).length;
  const complaints = exchanges.flatMap(({ verdict }, index) => (verdict === -1 ? [votes[index]] : []));
  const praised = complaints.filter((vote) => vote === 1).length;
  const unanswered = exchanges.filter((_, index) => answerOf(votes[index]) === undefined).length;
  return { right, of: exchanges.length, praised, complaints: complaints.length, unanswered };
}

const hasPassed = ({ right, of, praised, complaints }: Counts): boolean =>
  right >= LEAST_RIGHT * of && praised <= MOST_PRAISED * Math.max(1, complaints);

/** "31 of 40 right, 1 of 17 complaints taken for praise", plus the number of unanswered exchanges if any. */
export const describeResult = ({ right, of, praised, complaints, unanswered }: ExamResult): string => {
  const missing = unanswered === 0 ? '' : `, ${unanswered} not answered`;
  return `${right} of ${of} right, ${praised} of ${complaints} complaints taken for praise${missing}`;
};

/** An exchange as a turn for the judge. */
export const turnOf = (index: number, { request, answer, next }: Exchange): TurnCompleted['data'] => ({
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
