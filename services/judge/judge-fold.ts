import type { HintCast } from '../../shared/events/hint-cast.ts';
import { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import type { VoteExpired } from '../../shared/events/vote-expired.ts';
import type { VoteFailed } from '../../shared/events/vote-failed.ts';
import type { Fold, InputEvent } from '../../shared/log/fold.ts';
import { openDraft } from '../../shared/log/rows.ts';
import { forgetContrary, inferredHint, noteForms, plainFormsIn } from './inferred-wish.ts';
import { type JudgeTables, judgeTables, type OpenTurn } from './judge-rows.ts';
import { onContinued, onLateFeedback, onWords } from './later-evidence.ts';
import { acceptedHints, hintsOf, tally, votesOf } from './tally.ts';
import { impliedVerdict, notePerson, silentVerdict } from './weak-evidence.ts';

export type JudgeSettings = {
  /** votes per turn; a turn keeps the number that it was opened with */
  readonly votes: number;
  /** votes about hints per turn; none unless told */
  readonly hintVotes?: number;
  /** Later evidence revises a judgment. Absent: it changes nothing, as in logs of earlier programs. */
  readonly revises?: boolean;
  /** by size, a verdict that rests on what a person did alone; none unless told */
  readonly weakVerdict?: number;
};

type Emitted = JudgmentReached | JudgmentRevised;

/**
 * Votes still open per turn; turns -> turns. The tally is made in the commit that emits the judgment.
 * Explicit feedback outranks votes, whenever it comes; the words after it may still bring a hint. A turn that
 * waits for a reward is settled at the end of its session, by its return or as unavailable, never by votes.
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
): readonly Emitted[] {
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
  const { turnId, key, session, epoch, settle, adapter, implies, from } = event.data;
  if (state.turns.get(turnId) !== undefined) return [];
  const turn: OpenTurn = {
    ...{ key, session, epoch, settle, at, needs: votes, votes: {} },
    ...(hintVotes === 0 ? {} : { needsHints: hintVotes, hints: {} }),
    ...(revises ? { adapter } : {}),
    ...(revises && settle === 'votes' && from === null ? { silent: true } : {}),
    ...(implies === 'kept' ? { kept: true } : {}),
  };
  if (implies === 'regenerated' || implies === 'edited') {
    const judgment = reach(state, turnId, turn, event, impliedVerdict(implies, weakVerdict));
    if (revises) state.judged.set(turnId, memoryOf(turn, judgment));
    return [judgment];
  }
  state.turns.set(turnId, turn);
  return [];
}

/** The score is known at once. What was said after the answer may still bring a hint. */
function onFeedback(
  state: JudgeTables,
  event: TurnFeedback & InputEvent,
  { revises = false }: JudgeSettings,
) {
  const { turnId, score, advantage, comment } = event.data;
  const turn = state.turns.get(turnId);
  if (turn === undefined || turn.told) return revises ? onLateFeedback(state, event) : [];
  const source = turn.settle === 'reward' ? ('reward' as const) : ('feedback' as const);
  const verdict = { score, mean: score, source, ...(advantage === undefined ? {} : { advantage }) };
  const judgment = reach(state, turnId, turn, event, { ...verdict, ...commented(score, comment) });
  if (!revises || turn.settle !== 'votes') return [judgment];
  state.judged.set(turnId, { ...memoryOf(turn, judgment), feedback: [event.id] });
  // whose votes bring no hints is asked for hints alone
  const asks = { ...turn, told: true as const, needs: turn.needsHints === undefined ? turn.needs : 0 };
  if (!turn.silent && !isWhole(asks)) state.turns.set(turnId, asks);
  return [judgment];
}

const commented = (score: number, comment: string | undefined) =>
  score < 0 && comment !== undefined ? { moreHints: [comment] } : {};

function onVote(state: JudgeTables, event: VoteCast & InputEvent, settings: JudgeSettings) {
  const { turnId, index, vote, hint, reaction, unmet } = event.data;
  const open = state.turns.get(turnId);
  if (open === undefined || open.settle !== 'votes' || index >= open.needs || index in open.votes) return [];
  const cast = {
    vote,
    ...(hint === undefined ? {} : { hint }),
    ...(reaction === undefined ? {} : { reaction }),
    ...(unmet === undefined ? {} : { unmet: plainFormsIn(unmet) }),
  };
  return asked(state, event, { ...open, votes: { ...open.votes, [index]: cast } }, settings);
}

function onHint(state: JudgeTables, event: HintCast & InputEvent, settings: JudgeSettings) {
  const { turnId, index, hint = null } = event.data;
  const open = state.turns.get(turnId);
  const { needsHints = 0, hints = {} } = open ?? {};
  if (open === undefined || index >= needsHints || index in hints) return [];
  return asked(state, event, { ...open, hints: { ...hints, [index]: hint } }, settings);
}

function asked(
  state: JudgeTables,
  event: (VoteCast | HintCast) & InputEvent,
  turn: OpenTurn,
  settings: JudgeSettings,
): readonly Emitted[] {
  const { turnId } = event.data;
  state.turns.set(turnId, turn);
  if (turn.settle !== 'votes' || !isWhole(turn)) return [];
  return turn.told ? onWords(state, event, turn) : [reachByVotes(state, event, turn, settings)];
}

const hasAllVotes = ({ votes, needs }: OpenTurn): boolean => Object.keys(votes).length >= needs;
const hasAllHints = ({ hints = {}, needsHints = 0 }: OpenTurn): boolean =>
  Object.keys(hints).length >= needsHints;
const isWhole = (turn: OpenTurn): boolean => hasAllVotes(turn) && hasAllHints(turn);

type OnTurn = (VoteCast | HintCast | VoteExpired | VoteFailed) & InputEvent;

function reachByVotes(
  state: JudgeTables,
  event: OnTurn,
  turn: OpenTurn,
  { revises = false, weakVerdict = 0 }: JudgeSettings,
) {
  const { turnId } = event.data;
  const hints = acceptedHints(hintsOf(turn));
  const weak = hints.length === 0 ? silentVerdict(turn, state.people, weakVerdict) : undefined;
  const verdict = { ...tally(votesOf(turn)), source: 'votes' } as const;
  const inferred = inferHint(state, turn, verdict.score < 0, hints);
  const judgment = reach(state, turnId, turn, event, weak ?? { ...verdict, ...inferred });
  if (revises) state.judged.set(turnId, memoryOf(turn, judgment));
  return judgment;
}

/** A complaint without a hint gets the one that the person's complaints have in common, where they plainly do. */
function inferHint(
  { forms }: JudgeTables,
  { key, votes }: OpenTurn,
  isBad: boolean,
  hints: readonly string[],
): Pick<Verdict, 'inferred' | 'moreHints'> {
  const shown = Object.values(votes).find(({ vote, unmet }) => vote !== null && unmet !== undefined);
  if (shown?.unmet === undefined) return {};
  noteForms(forms, key, { unmet: shown.unmet, isBad });
  forgetContrary(forms, key, hints);
  if (!isBad || hints.length > 0) return {};
  const inferred = inferredHint(forms.get(key), shown.unmet);
  return inferred === undefined ? {} : { inferred, moreHints: [inferred] };
}

/** A verdict does not wait for hints longer than this. */
function onExpired(state: JudgeTables, event: VoteExpired & InputEvent, settings: JudgeSettings) {
  const turn = state.turns.get(event.data.turnId);
  return turn?.settle === 'votes' ? endVotes(state, event, turn, { settings, without: unavailable }) : [];
}

/** Failed votes of one turn, after which it is set aside. */
export const MOST_FAILURES = 3;

/** What the judge cannot get through is not tried for ever: not in this process, nor in the next one. */
function onFailed(state: JudgeTables, event: VoteFailed & InputEvent, settings: JudgeSettings) {
  const { turnId } = event.data;
  const open = state.turns.get(turnId);
  if (open?.settle !== 'votes' || open.failed?.includes(event.id)) return [];
  const turn: OpenTurn = { ...open, failed: [...(open.failed ?? []), event.id] };
  state.turns.set(turnId, turn);
  if (turn.failed!.length < MOST_FAILURES) return [];
  return endVotes(state, event, turn, { settings, without: setAside });
}

/** Nobody is asked any more: what is in counts. */
function endVotes(
  state: JudgeTables,
  event: OnTurn,
  turn: OpenTurn,
  { settings, without }: { readonly settings: JudgeSettings; readonly without: Verdict },
): readonly Emitted[] {
  const { turnId } = event.data;
  if (turn.told) return onWords(state, event, turn);
  if (hasAllVotes(turn)) return [reachByVotes(state, event, turn, settings)];
  const judgment = reach(state, turnId, turn, event, without);
  if (settings.revises) state.judged.set(turnId, memoryOf(turn, judgment));
  return [judgment];
}

/** Its session is over, and no reward came: what comes later is late. */
function onClosed(state: JudgeTables, event: SessionClosed & InputEvent) {
  const { key, session, epoch } = event.data;
  return [...state.turns.entries()]
    .filter(
      ([, turn]) =>
        turn.settle === 'reward' && turn.session === session && turn.epoch === epoch && turn.key === key,
    )
    .map(([turnId, turn]) => reach(state, turnId, turn, event, unavailable));
}

/** Nobody is asked about it any more, and nothing revises what was told of it. */
function onWithdrawn(state: JudgeTables, event: TurnWithdrawn & InputEvent) {
  const { turnId } = event.data;
  const turn = state.turns.get(turnId);
  if (state.judged.get(turnId) !== undefined) state.judged.delete(turnId);
  if (turn?.told) state.turns.delete(turnId);
  return turn === undefined || turn.told ? [] : [reach(state, turnId, turn, event, unavailable)];
}

type Verdict = Pick<
  JudgmentReached['data'],
  'score' | 'mean' | 'source' | 'advantage' | 'reason' | 'implied' | 'inferred'
> & { readonly moreHints?: readonly string[] };
const unavailable: Verdict = { score: null, mean: 0, source: 'unavailable' };
const setAside: Verdict = { ...unavailable, reason: 'vote-failed' };

/** What later evidence is held against. */
const memoryOf = ({ key, session, epoch, adapter }: OpenTurn, { data }: JudgmentReached) => ({
  ...{ key, session, epoch, score: data.score, source: data.source },
  // what was inferred was said by nobody: later evidence does not repeat it
  hints: data.hints.filter((hint) => hint !== data.inferred),
  ...{ n: 0, feedback: [] },
  ...(adapter === undefined ? {} : { adapter }),
});

/** The turn is settled: it owes nothing any more, and is remembered. */
function reach(
  { turns, settled, people }: JudgeTables,
  turnId: string,
  turn: OpenTurn,
  event: InputEvent,
  { moreHints = [], ...verdict }: Verdict,
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
      hints: acceptedHints([...hintsOf(turn), ...moreHints]),
      by: event.id,
    },
  });
}
