import { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { JudgeTables, OpenTurn } from './judge-rows.ts';
import { acceptedHints, hintsOf, votesOf } from './tally.ts';
import { notePerson } from './weak-evidence.ts';

export type Verdict = Pick<
  JudgmentReached['data'],
  'score' | 'mean' | 'source' | 'advantage' | 'reason' | 'implied' | 'inferred' | 'process'
> & {
  readonly moreHints?: readonly string[];
  /** hints of votes do not count */
  readonly dropsHints?: boolean;
};
export const unavailable: Verdict = { score: null, mean: 0, source: 'unavailable' };
export const setAside: Verdict = { ...unavailable, reason: 'vote-failed' };

/** The row that later evidence is compared with. */
export const judgedTurnOf = ({ key, session, epoch, adapter }: OpenTurn, { data }: JudgmentReached) => ({
  key,
  session,
  epoch,
  score: data.score,
  source: data.source,
  // A person never states an inferred hint, so later evidence cannot repeat it.
  hints: data.hints.filter((hint) => hint !== data.inferred),
  n: 0,
  feedback: [],
  ...defined({ adapter }),
});

type Settlement = {
  readonly turnId: string;
  readonly turn: OpenTurn;
  readonly event: InputEvent;
  readonly verdict: Verdict;
};

/** Closes an open turn, remembers its id, and returns its judgment. */
export function closeTurn(
  { turns, settled, people }: JudgeTables,
  { turnId, turn, event, verdict: { moreHints = [], dropsHints = false, ...verdict } }: Settlement,
): JudgmentReached {
  turns.delete(turnId);
  settled.add(turnId, event);
  const isHeard = verdict.source === 'votes' || verdict.source === 'feedback';
  if (isHeard && turn.settle === 'votes') notePerson(people, turn.key, verdict.score ?? 0);
  return JudgmentReached.create({
    id: `${turnId}/judgment`,
    source: 'clawloop/judge',
    time: event.time,
    traceparent: event.traceparent,
    data: {
      turnId,
      lane: event.subject,
      ...verdict,
      votes: votesOf(turn),
      needs: turn.needs,
      hints: acceptedHints([...(dropsHints ? [] : hintsOf(turn)), ...moreHints]),
      by: event.id,
    },
  });
}
