import type { HintCast } from '../../shared/events/hint-cast.ts';
import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import type { VoteExpired } from '../../shared/events/vote-expired.ts';
import type { VoteFailed } from '../../shared/events/vote-failed.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Fold, InputEvent } from '../../shared/log/fold.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { closeTurn, judgedTurnOf, setAside, unavailable, type Verdict } from './close-turn.ts';
import { inferHint } from './inferred-wish.ts';
import { type JudgeTables, judgeTables, type OpenTurn, openHints, takesVotes } from './judge-rows.ts';
import type { JudgeSettings } from './judge-settings.ts';
import { onContinued, onLateFeedback, onWords } from './later-evidence.ts';
import { plainFormsIn } from './plain-forms.ts';
import { earnReturn, giveUp, stepVerdict } from './step-votes.ts';
import { acceptedHints, hintsOf, tally, votesOf } from './tally.ts';
import { impliedVerdict, silentVerdict } from './weak-evidence.ts';

/**
 * Keeps the open votes of each turn; reads and writes the topic `turns`. The commit that emits a judgment also
 * makes its tally. Explicit feedback outranks votes whenever it arrives; the words after it may still bring a
 * hint. A turn that waits for a reward is never settled by votes alone: the end of its session settles it by its
 * return, or as unavailable. Votes on it, if its session asked for them, are added to its return.
 */
export const judgeFold: Fold<JudgeSettings> = {
  name: 'judge',
  reads: 'turns',
  writes: 'turns',
  on(rows, event, at, settings) {
    const draft = openDraft(rows);
    const state = judgeTables(draft);
    if (event.type === 'turns.forgotten') state.settled.forgetAll();
    if (event.type === 'turn.completed' && state.settled.has(event.data.turnId))
      return { changes: [], emit: [] };
    const emit = onEvent(state, event, at, settings);
    return { changes: draft.changes(), emit };
  },
};

function onEvent(
  state: JudgeTables,
  event: InputEvent,
  at: Position,
  settings: JudgeSettings,
): readonly (JudgmentReached | JudgmentRevised)[] {
  switch (event.type) {
    case 'turn.completed':
      return onCompleted(state, event, at, settings);
    case 'turn.continued':
      return onContinued(state, event, at, settings);
    case 'turn.feedback':
      return onFeedback(state, event, settings);
    case 'vote.cast':
      return onVote(state, event, settings);
    case 'hint.cast':
      return onHint(state, event, settings);
    case 'vote.expired':
      return onExpired(state, event, settings);
    case 'vote.failed':
      return onFailed(state, event, settings);
    case 'session.closed':
      if (settings.sweepsAtClose) state.settled.sweep(event);
      return onClosed(state, event);
    case 'turn.withdrawn':
      return onWithdrawn(state, event);
    default:
      return [];
  }
}

function onCompleted(
  state: JudgeTables,
  event: TurnCompleted & InputEvent,
  at: Position,
  { votes, hintVotes = 0, revises = false, weakVerdict = 0 }: JudgeSettings,
) {
  const { turnId, key, session, epoch, settle, adapter, implies, from, process } = event.data;
  if (state.turns.get(turnId) !== undefined) return [];
  const turn: OpenTurn = {
    key,
    session,
    epoch,
    settle,
    at,
    // nothing came back from the last step of a session, so there is nothing to vote on
    needs: process === undefined ? votes : from === null ? 0 : process.votes,
    votes: {},
    ...openHints(process === undefined ? hintVotes : 0),
    ...defined({
      step: process === undefined ? undefined : { weight: process.weight },
      adapter: revises ? adapter : undefined,
      silent: revises && settle === 'votes' && from === null ? true : undefined,
      kept: implies === 'kept' ? true : undefined,
    }),
  };
  if (implies === 'regenerated' || implies === 'edited') {
    const verdict = impliedVerdict(implies, weakVerdict);
    const judgment = closeTurn(state, { turnId, turn, event, verdict });
    if (revises) state.judged.set(turnId, judgedTurnOf(turn, judgment));
    return [judgment];
  }
  state.turns.set(turnId, turn);
  return [];
}

/** Feedback gives the score at once. The words after the answer may still bring a hint. */
function onFeedback(state: JudgeTables, event: TurnFeedback & InputEvent, settings: JudgeSettings) {
  const { revises = false, thumbsSettle = false } = settings;
  const { turnId, score, advantage, comment } = event.data;
  const turn = state.turns.get(turnId);
  if (turn === undefined || turn.told) return revises ? onLateFeedback(state, event, settings) : [];
  if (turn.step !== undefined) return settleStep(state, event, earnReturn(turn, turn.step, event));
  const source = turn.settle === 'reward' ? ('reward' as const) : ('feedback' as const);
  const verdict = { score, mean: score, source, ...defined({ advantage }) };
  const judgment = closeTurn(state, {
    turnId,
    turn,
    event,
    verdict: {
      ...verdict,
      ...commentAsHint(score, comment),
      dropsHints: thumbsSettle && source === 'feedback' && score > 0,
    },
  });
  if (!revises || turn.settle !== 'votes') return [judgment];
  state.judged.set(turnId, { ...judgedTurnOf(turn, judgment), feedback: [event.id] });
  // a judge whose votes bring no hints is asked only for hints
  const open = { ...turn, told: true as const, needs: turn.needsHints === undefined ? turn.needs : 0 };
  if (!turn.silent && !isComplete(open)) state.turns.set(turnId, open);
  return [judgment];
}

const commentAsHint = (score: number, comment: string | undefined) =>
  score < 0 && comment !== undefined ? { moreHints: [comment] } : {};

function onVote(state: JudgeTables, event: VoteCast & InputEvent, settings: JudgeSettings) {
  const { turnId, index, vote, hint, reaction, unmet } = event.data;
  const open = state.turns.get(turnId);
  if (open === undefined || !takesVotes(open) || index >= open.needs || index in open.votes) return [];
  if (open.step !== undefined)
    return settleStep(state, event, { ...open, votes: { ...open.votes, [index]: { vote } } });
  const castVote = {
    vote,
    ...defined({ hint, reaction, unmet: unmet === undefined ? undefined : plainFormsIn(unmet) }),
  };
  return recordAnswer(state, event, { ...open, votes: { ...open.votes, [index]: castVote } }, settings);
}

function onHint(state: JudgeTables, event: HintCast & InputEvent, settings: JudgeSettings) {
  const { turnId, index, hint = null } = event.data;
  const open = state.turns.get(turnId);
  const { needsHints = 0, hints = {} } = open ?? {};
  if (open === undefined || index >= needsHints || index in hints) return [];
  return recordAnswer(state, event, { ...open, hints: { ...hints, [index]: hint } }, settings);
}

/** Stores a turn with a new vote or hint, and settles the turn if that was the last one. */
function recordAnswer(
  state: JudgeTables,
  event: (VoteCast | HintCast) & InputEvent,
  turn: OpenTurn,
  settings: JudgeSettings,
): readonly (JudgmentReached | JudgmentRevised)[] {
  const { turnId } = event.data;
  state.turns.set(turnId, turn);
  if (turn.settle !== 'votes' || !isComplete(turn)) return [];
  return turn.told ? onWords(state, event, turn, settings) : [settleByVotes(state, event, turn, settings)];
}

/** Stores a step of a rewarded session, or settles it if its return and its votes are known. */
function settleStep(
  state: JudgeTables,
  event: InputEvent & { readonly data: { readonly turnId: string } },
  turn: OpenTurn,
) {
  const { turnId } = event.data;
  const verdict = stepVerdict(turn);
  if (verdict !== undefined) return [closeTurn(state, { turnId, turn, event, verdict })];
  state.turns.set(turnId, turn);
  return [];
}

const hasAllVotes = ({ votes, needs }: OpenTurn): boolean => Object.keys(votes).length >= needs;
const hasAllHints = ({ hints = {}, needsHints = 0 }: OpenTurn): boolean =>
  Object.keys(hints).length >= needsHints;
const isComplete = (turn: OpenTurn): boolean => hasAllVotes(turn) && hasAllHints(turn);

type VoteEvent = (VoteCast | HintCast | VoteExpired | VoteFailed) & InputEvent;

function settleByVotes(
  state: JudgeTables,
  event: VoteEvent,
  turn: OpenTurn,
  { revises = false, weakVerdict = 0 }: JudgeSettings,
) {
  const { turnId } = event.data;
  const hints = acceptedHints(hintsOf(turn));
  const weak = hints.length === 0 ? silentVerdict(turn, state.people, weakVerdict) : undefined;
  const verdict = { ...tally(votesOf(turn)), source: 'votes' } as const;
  const inferred = inferHint(state, turn, verdict.score < 0, hints);
  const judgment = closeTurn(state, { turnId, turn, event, verdict: weak ?? { ...verdict, ...inferred } });
  if (revises) state.judged.set(turnId, judgedTurnOf(turn, judgment));
  return judgment;
}

/** At the deadline the turn is settled with the votes and hints that have arrived. */
function onExpired(state: JudgeTables, event: VoteExpired & InputEvent, settings: JudgeSettings) {
  const turn = state.turns.get(event.data.turnId);
  if (turn?.step !== undefined) return settleStep(state, event, giveUp(turn, turn.step));
  return turn?.settle === 'votes' ? endVotes(state, event, turn, { settings, fallback: unavailable }) : [];
}

/** Number of failed votes after which a turn is set aside. */
const MOST_FAILURES = 3;

/** A turn that makes the judge fail is not retried forever, not even by the next process. */
function onFailed(state: JudgeTables, event: VoteFailed & InputEvent, settings: JudgeSettings) {
  const { turnId } = event.data;
  const open = state.turns.get(turnId);
  if (open === undefined || !takesVotes(open) || open.failed?.includes(event.id)) return [];
  const turn: OpenTurn = { ...open, failed: [...(open.failed ?? []), event.id] };
  state.turns.set(turnId, turn);
  if (turn.failed!.length < MOST_FAILURES) return [];
  if (turn.step !== undefined) return settleStep(state, event, giveUp(turn, turn.step));
  return endVotes(state, event, turn, { settings, fallback: setAside });
}

/** Settles a turn with the votes that have arrived, or with the fallback if some are missing. */
function endVotes(
  state: JudgeTables,
  event: VoteEvent,
  turn: OpenTurn,
  { settings, fallback }: { readonly settings: JudgeSettings; readonly fallback: Verdict },
): readonly (JudgmentReached | JudgmentRevised)[] {
  const { turnId } = event.data;
  if (turn.told) return onWords(state, event, turn, settings);
  if (hasAllVotes(turn)) return [settleByVotes(state, event, turn, settings)];
  const judgment = closeTurn(state, { turnId, turn, event, verdict: fallback });
  if (settings.revises) state.judged.set(turnId, judgedTurnOf(turn, judgment));
  return [judgment];
}

/**
 * A turn of the session that has no return then gets none: the session ended without a reward, and a later one has
 * no effect.
 */
function onClosed(state: JudgeTables, event: SessionClosed & InputEvent) {
  const { key, session, epoch } = event.data;
  return [...state.turns.entries()]
    .filter(
      ([, turn]) =>
        turn.settle === 'reward' &&
        turn.step?.earned === undefined &&
        turn.session === session &&
        turn.epoch === epoch &&
        turn.key === key,
    )
    .map(([turnId, turn]) => closeTurn(state, { turnId, turn, event, verdict: unavailable }));
}

/** A withdrawn turn needs no more votes, and its judgment is not revised. */
function onWithdrawn(state: JudgeTables, event: TurnWithdrawn & InputEvent) {
  const { turnId } = event.data;
  const turn = state.turns.get(turnId);
  if (state.judged.get(turnId) !== undefined) state.judged.delete(turnId);
  if (turn?.told) state.turns.delete(turnId);
  return turn === undefined || turn.told
    ? []
    : [closeTurn(state, { turnId, turn, event, verdict: unavailable })];
}
