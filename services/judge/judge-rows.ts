import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { Position } from '../../shared/events/position.ts';
import type { ProcessBaseline } from '../../shared/events/process-terms.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import type { PlainForm } from './plain-forms.ts';

export type Vote = -1 | 0 | 1 | null;

type CastVote = {
  readonly vote: Vote;
  readonly hint?: string;
  readonly reaction?: NonNullable<VoteCast['data']['reaction']>;
  readonly unmet?: readonly PlainForm[];
};

/** A turn with open votes. Its id is remembered for a day after it is settled, so a copy opens no votes. */
export type OpenTurn = {
  readonly key: string;
  readonly session: string;
  readonly epoch: string;
  readonly settle: 'votes' | 'reward';
  /** only if judgments are revised */
  readonly adapter?: string;
  /** position of its `turn.completed` event, which has the messages */
  readonly at: Position;
  readonly needs: number;
  /** by index; the first vote in the log counts */
  readonly votes: Readonly<Record<string, CastVote>>;
  /** absent: none */
  readonly needsHints?: number;
  /** by index; the first hint vote in the log counts; null: no hint */
  readonly hints?: Readonly<Record<string, string | null>>;
  /** ids of its `vote.failed` events; absent: none */
  readonly failed?: readonly string[];
  /** a step of a rewarded session that is voted on while the session goes on */
  readonly step?: Step;
  /** no message followed: no votes are owed, only feedback can settle it */
  readonly silent?: true;
  /** its judgment is in the log; it stays open for hints from the words after it */
  readonly told?: true;
  /** the person went on from this answer after they had rejected others */
  readonly kept?: true;
};

export type Step = {
  /** weight of the mean vote beside the return */
  readonly weight: number;
  /** its votes missed their deadline or broke the judge; later ones do not count */
  readonly gaveUp?: true;
  /** its return, which came before its last vote */
  readonly earned?: EarnedReturn;
};

/** The return of a step, and what its votes are compared with. */
type EarnedReturn = {
  readonly score: number;
  readonly advantage?: number;
  /** id of its turn.feedback */
  readonly id: string;
  readonly against: ProcessBaseline;
};

/** Whether a vote on the turn still counts. */
export const takesVotes = ({ settle, step }: OpenTurn): boolean =>
  settle === 'votes' || (step !== undefined && step.gaveUp === undefined);

/** The members of a turn that waits for hint votes; none for 0 votes. */
export const openHints = (hintVotes: number) =>
  defined({
    needsHints: hintVotes === 0 ? undefined : hintVotes,
    hints: hintVotes === 0 ? undefined : {},
  });

/** The judgment of a turn, kept for a day in which later evidence may revise it. */
export type JudgedTurn = Pick<JudgmentReached['data'], 'score' | 'source' | 'hints'> & {
  readonly key: string;
  readonly session: string;
  readonly epoch: string;
  /** absent in rows of older versions */
  readonly adapter?: string;
  /** revisions so far */
  readonly n: number;
  /** ids of the feedback events that were read */
  readonly feedback: readonly string[];
  /** the words after it have been read */
  readonly continued?: true;
};

/** Judged turns of one person (by access key) and how many of them were bad; older turns count less. */
export type PersonRow = { readonly judged: number; readonly bad: number };

/**
 * Judged answers of one person, older ones counting less: bad ones and others, and how many of each lack a form.
 */
export type FormsRow = {
  readonly bad: number;
  readonly others: number;
  readonly lacking: Readonly<Partial<Record<PlainForm, { readonly bad: number; readonly others: number }>>>;
};

export const TURNS = 'turn';

/** The tables that the fold keeps for a lane. */
export function judgeTables(draft: Draft) {
  const judged = draft.table<JudgedTurn>('settled-verdict');
  return {
    turns: draft.table<OpenTurn>(TURNS),
    judged,
    people: draft.table<PersonRow>('settled-person'),
    /** by access key */
    forms: draft.table<FormsRow>('settled-forms'),
    settled: settledIds(draft, (id) => {
      if (judged.get(id) !== undefined) judged.delete(id);
    }),
  };
}
export type JudgeTables = ReturnType<typeof judgeTables>;
