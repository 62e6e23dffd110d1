import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { Position } from '../../shared/events/position.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import type { Draft } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import type { FormsRow, PlainForm } from './inferred-wish.ts';
import type { Vote } from './tally.ts';

type CastVote = {
  readonly vote: Vote;
  readonly hint?: string;
  readonly reaction?: NonNullable<VoteCast['data']['reaction']>;
  readonly unmet?: readonly PlainForm[];
};

/**
 * An open turn. Removed when it is settled; its id is remembered for a day, so that a copy of it opens no votes.
 */
export type OpenTurn = {
  readonly key: string;
  readonly session: string;
  readonly epoch: string;
  readonly settle: 'votes' | 'reward';
  /** only under rules that revise judgments */
  readonly adapter?: string;
  /** of its `turn.completed`, where its body is */
  readonly at: Position;
  readonly needs: number;
  /** by index; the first one in the log counts */
  readonly votes: Readonly<Record<string, CastVote>>;
  /** absent: none */
  readonly needsHints?: number;
  /** by index; the first one in the log counts; null: no hint */
  readonly hints?: Readonly<Record<string, string | null>>;
  /** ids of its `vote.failed`; absent: none */
  readonly failed?: readonly string[];
  /** nothing was said after it: nobody is asked, feedback follows */
  readonly silent?: true;
  /** its verdict is told; it stays open for what the words after it bring */
  readonly told?: true;
  /** the person went on from it after they had refused others */
  readonly kept?: true;
};

/** What was told of a turn, for a day: later evidence may say otherwise. */
export type JudgedTurn = Pick<JudgmentReached['data'], 'score' | 'source' | 'hints'> & {
  readonly key: string;
  readonly session: string;
  readonly epoch: string;
  /** absent in rows of earlier programs */
  readonly adapter?: string;
  /** revisions so far */
  readonly n: number;
  /** ids of the feedback that was read */
  readonly feedback: readonly string[];
  /** what was said after it is known */
  readonly continued?: true;
};

/** Of one person, by access key: turns that were judged, older ones counting less, and how many were bad. */
export type PersonRow = { readonly judged: number; readonly bad: number };

export const TURNS = 'turn';

/** What the fold keeps of a lane. */
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
