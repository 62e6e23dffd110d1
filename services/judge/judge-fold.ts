import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import type { HintCast } from '../../shared/events/hint-cast.ts';
import { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { Position } from '../../shared/events/position.ts';
import type { SessionClosed } from '../../shared/events/session-closed.ts';
import type { TurnCompleted } from '../../shared/events/turn-completed.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import type { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import type { VoteCast } from '../../shared/events/vote-cast.ts';
import type { VoteExpired } from '../../shared/events/vote-expired.ts';
import type { VoteFailed } from '../../shared/events/vote-failed.ts';
import type { Fold } from '../../shared/log/fold.ts';
import { openDraft, type Rows, type Table } from '../../shared/log/rows.ts';
import { settledIds } from '../../shared/log/settled-ids.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { acceptedHints, tally, type Vote } from './tally.ts';

export type JudgeSettings = {
  /** votes per turn; a turn keeps the number that it was opened with */
  readonly votes: number;
  /** votes about hints per turn; none unless told */
  readonly hintVotes?: number;
};

/**
 * An open turn. Removed when it is settled; its id is remembered for a day, so that a copy of it opens no votes.
 */
export type OpenTurn = {
  readonly key: string;
  readonly session: string;
  readonly epoch: string;
  readonly settle: 'votes' | 'reward';
  /** of its `turn.completed`, where its body is */
  readonly at: Position;
  readonly needs: number;
  /** by index; the first one in the log counts */
  readonly votes: Readonly<Record<string, { readonly vote: Vote; readonly hint?: string }>>;
  /** absent: none */
  readonly needsHints?: number;
  /** by index; the first one in the log counts; null: no hint */
  readonly hints?: Readonly<Record<string, string | null>>;
  /** ids of its `vote.failed`; absent: none */
  readonly failed?: readonly string[];
};

/** What a worker needs to cast one vote: no bodies. */
export type VoteJob = {
  readonly turnId: string;
  readonly lane: string;
  readonly index: number;
  readonly at: Position;
  /** absent: a verdict */
  readonly asks?: 'hint';
};

const TURNS = 'turn';
/** what the key of each of its rows begins with */
const TURN_ROW = `${TURNS}/`;

/**
 * Votes still open per turn; turns -> turns. The tally is made in the commit that emits the judgment.
 * Explicit feedback outranks votes. A turn that waits for a reward is settled at the end of its session, by
 * its return or as unavailable, never by votes.
 */
export const judgeFold: Fold<JudgeSettings> = {
  name: 'judge',
  reads: 'turns',
  writes: 'turns',
  on(rows, event, at, settings) {
    const draft = openDraft(rows);
    const turns = draft.table<OpenTurn>(TURNS);
    const settled = settledIds(draft);
    if (event.type === 'turns.forgotten') settled.forgetAll();
    if (event.type === 'turn.completed' && settled.has(event.data.turnId)) return { changes: [], emit: [] };
    const judgments = onEvent(turns, event, at, settings);
    for (const { data } of judgments) {
      turns.delete(data.turnId);
      settled.add(data.turnId, event);
    }
    return { changes: draft.changes(), emit: judgments };
  },
};

function onEvent(
  turns: Table<OpenTurn>,
  event: ClawLoopEvent,
  at: Position,
  settings: JudgeSettings,
): readonly JudgmentReached[] {
  switch (event.type) {
    case 'turn.completed':
      return onCompleted(turns, event, at, settings);
    case 'turn.feedback':
      return onFeedback(turns, event);
    case 'vote.cast':
      return onVote(turns, event);
    case 'hint.cast':
      return onHint(turns, event);
    case 'vote.expired':
      return onExpired(turns, event);
    case 'vote.failed':
      return onFailed(turns, event);
    case 'session.closed':
      return onClosed(turns, event);
    case 'turn.withdrawn':
      return onWithdrawn(turns, event);
    default:
      return [];
  }
}

function onCompleted(
  turns: Table<OpenTurn>,
  { data }: TurnCompleted,
  at: Position,
  { votes, hintVotes = 0 }: JudgeSettings,
) {
  const { key, session, epoch, settle } = data;
  if (turns.get(data.turnId) === undefined)
    turns.set(data.turnId, {
      ...{ key, session, epoch, settle, at, needs: votes, votes: {} },
      ...(hintVotes === 0 ? {} : { needsHints: hintVotes, hints: {} }),
    });
  return [];
}

function onFeedback(turns: Table<OpenTurn>, event: TurnFeedback) {
  const { turnId, score, advantage, comment } = event.data;
  const turn = turns.get(turnId);
  if (turn === undefined) return [];
  const hints = score < 0 && comment !== undefined ? [comment] : [];
  const source = turn.settle === 'reward' ? ('reward' as const) : ('feedback' as const);
  const verdict = { score, mean: score, source, ...(advantage === undefined ? {} : { advantage }) };
  return [reach(turnId, turn, event, verdict, hints)];
}

function onVote(turns: Table<OpenTurn>, event: VoteCast) {
  const { turnId, index, vote, hint } = event.data;
  const open = turns.get(turnId);
  if (open === undefined || open.settle !== 'votes' || index >= open.needs || index in open.votes) return [];
  const cast = hint === undefined ? { vote } : { vote, hint };
  const turn: OpenTurn = { ...open, votes: { ...open.votes, [index]: cast } };
  turns.set(turnId, turn);
  return hasAllVotes(turn) && hasAllHints(turn) ? [reachByVotes(turnId, turn, event)] : [];
}

function onHint(turns: Table<OpenTurn>, event: HintCast) {
  const { turnId, index, hint = null } = event.data;
  const open = turns.get(turnId);
  const { needsHints = 0, hints = {} } = open ?? {};
  if (open === undefined || index >= needsHints || index in hints) return [];
  const turn: OpenTurn = { ...open, hints: { ...hints, [index]: hint } };
  turns.set(turnId, turn);
  return turn.settle === 'votes' && hasAllVotes(turn) && hasAllHints(turn)
    ? [reachByVotes(turnId, turn, event)]
    : [];
}

const hasAllVotes = ({ votes, needs }: OpenTurn): boolean => Object.keys(votes).length >= needs;
const hasAllHints = ({ hints = {}, needsHints = 0 }: OpenTurn): boolean =>
  Object.keys(hints).length >= needsHints;

const reachByVotes = (turnId: string, turn: OpenTurn, event: ClawLoopEvent) =>
  reach(turnId, turn, event, { ...tally(votesOf(turn)), source: 'votes' });

/** A verdict does not wait for hints longer than this. */
function onExpired(turns: Table<OpenTurn>, event: VoteExpired) {
  const { turnId } = event.data;
  const turn = turns.get(turnId);
  if (turn?.settle !== 'votes') return [];
  return [hasAllVotes(turn) ? reachByVotes(turnId, turn, event) : reach(turnId, turn, event, unavailable)];
}

/** Failed votes of one turn, after which it is set aside. */
export const MOST_FAILURES = 3;

/** What the judge cannot get through is not tried for ever: not in this process, nor in the next one. */
function onFailed(turns: Table<OpenTurn>, event: VoteFailed) {
  const { turnId } = event.data;
  const open = turns.get(turnId);
  if (open?.settle !== 'votes' || open.failed?.includes(event.id)) return [];
  const turn: OpenTurn = { ...open, failed: [...(open.failed ?? []), event.id] };
  turns.set(turnId, turn);
  if (turn.failed!.length < MOST_FAILURES) return [];
  return [hasAllVotes(turn) ? reachByVotes(turnId, turn, event) : reach(turnId, turn, event, setAside)];
}

/** Its session is over, and no reward came: what comes later is late. */
function onClosed(turns: Table<OpenTurn>, event: SessionClosed) {
  const { key, session, epoch } = event.data;
  return [...turns.entries()]
    .filter(
      ([, turn]) =>
        turn.settle === 'reward' && turn.session === session && turn.epoch === epoch && turn.key === key,
    )
    .map(([turnId, turn]) => reach(turnId, turn, event, unavailable));
}

/** Nobody is asked about it any more. */
function onWithdrawn(turns: Table<OpenTurn>, event: TurnWithdrawn) {
  const { turnId } = event.data;
  const turn = turns.get(turnId);
  return turn === undefined ? [] : [reach(turnId, turn, event, unavailable)];
}

type Verdict = Pick<JudgmentReached['data'], 'score' | 'mean' | 'source' | 'advantage' | 'reason'>;
const unavailable: Verdict = { score: null, mean: 0, source: 'unavailable' };
const setAside: Verdict = { ...unavailable, reason: 'vote-failed' };

function reach(
  turnId: string,
  turn: OpenTurn,
  event: ClawLoopEvent,
  verdict: Verdict,
  moreHints: readonly string[] = [],
): JudgmentReached {
  const hints = [...Object.values(turn.votes).map(({ hint }) => hint), ...Object.values(turn.hints ?? {})];
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
      hints: acceptedHints([...hints.filter((hint) => typeof hint === 'string'), ...moreHints]),
      by: event.id,
    },
  });
}

/** Those that are in, by index. */
const votesOf = (turn: OpenTurn): readonly Vote[] => Object.values(turn.votes).map(({ vote }) => vote);

/** Open turns of one lane. */
export function* openTurns(rows: Rows): Generator<readonly [turnId: string, turn: OpenTurn]> {
  for (const [key, row] of rows.entries(TURN_ROW)) yield [key.slice(TURN_ROW.length), row as OpenTurn];
}

/** The open turns among some rows, by their keys; undefined for a turn that is settled. */
export function* turnsOf(
  rows: Rows,
  keys: readonly string[],
): Generator<readonly [turnId: string, turn: OpenTurn | undefined]> {
  for (const key of keys)
    if (key.startsWith(TURN_ROW)) yield [key.slice(TURN_ROW.length), rows.get(key) as OpenTurn | undefined];
}

/** The votes of one lane that are owed. */
export const owedVotes = (lane: string, rows: Rows): readonly Job<VoteJob>[] =>
  [...openTurns(rows)].flatMap(([turnId, turn]) => votesOwedTo(lane, turnId, turn));

/** The votes that one turn is owed. The job's id is that of the event that pays it. */
export function votesOwedTo(lane: string, turnId: string, turn: OpenTurn): readonly Job<VoteJob>[] {
  const { settle, needs, votes, needsHints = 0, hints = {}, at } = turn;
  if (settle !== 'votes') return [];
  return [
    ...missing(needs, votes).map((index) => ({
      id: `${turnId}/vote/${index}`,
      data: { turnId, lane, index, at },
    })),
    ...missing(needsHints, hints).map((index) => ({
      id: `${turnId}/hint/${index}`,
      data: { turnId, lane, index, at, asks: 'hint' as const },
    })),
  ];
}

const missing = (needs: number, given: object): readonly number[] =>
  Array.from({ length: needs }, (_, index) => index).filter((index) => !(index in given));
