import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { Position } from '../../shared/events/position.ts';
import { MOST_REVISIONS } from '../../shared/events/sample-id.ts';
import type { TurnContinued } from '../../shared/events/turn-continued.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { forgetContrary } from './inferred-wish.ts';
import { type JudgedTurn, type JudgeTables, type OpenTurn, openHints, type Vote } from './judge-rows.ts';
import type { JudgeSettings } from './judge-settings.ts';
import { acceptedHints, hintsOf, tally, votesOf } from './tally.ts';

/**
 * A person wrote after their feedback or their actions had settled a turn. The judges are asked about those words:
 * for a hint after a thumb down, for a verdict too if there was no feedback, and for nothing after a thumb up.
 */
export function onContinued(
  { turns, judged }: JudgeTables,
  { data }: TurnContinued & InputEvent,
  at: Position,
  { votes, hintVotes = 0, likedGivesNoHint = false }: JudgeSettings,
): readonly JudgmentRevised[] {
  const { turnId, key, session, epoch, settle, adapter } = data;
  const open = turns.get(turnId);
  if (open?.silent) {
    const { silent: _, ...spoken } = open;
    turns.set(turnId, { ...spoken, at });
  }
  const before = judged.get(turnId);
  if (open !== undefined || before === undefined || before.continued) return [];
  judged.set(turnId, { ...before, continued: true });
  if (likedGivesNoHint && isLiked(before)) return [];
  const needs = before.source === 'feedback' && hintVotes > 0 ? 0 : votes;
  turns.set(turnId, {
    key,
    session,
    epoch,
    settle,
    adapter,
    at,
    needs,
    votes: {},
    told: true,
    ...openHints(hintVotes),
  });
  return [];
}

/** Revises a settled turn when the votes about the later words are complete, or have ended. */
export function onWords(
  state: JudgeTables,
  event: InputEvent & { readonly data: { readonly turnId: string } },
  turn: OpenTurn,
  { likedGivesNoHint = false, laterWishesClear = false }: JudgeSettings,
): readonly JudgmentRevised[] {
  const { turnId } = event.data;
  state.turns.delete(turnId);
  const before = state.judged.get(turnId);
  if (before === undefined) return [];
  // the thumb may have come while the judges were asked
  const stated = likedGivesNoHint && isLiked(before) ? [] : acceptedHints(hintsOf(turn));
  if (laterWishesClear) forgetContrary(state.forms, turn.key, stated);
  const hints = stated.filter((hint) => !before.hints.includes(hint));
  const votes = votesOf(turn);
  const votesCount = before.source !== 'feedback' && votes.length >= turn.needs;
  const { score } = votesCount ? tally(votes) : { score: 0 };
  if (score === 0 && hints.length === 0) return [];
  return revise(state, event, before, {
    turnId,
    votes,
    hints,
    source: 'votes',
    score: score === 0 ? null : score,
  });
}

/** Feedback outranks everything but later feedback. Feedback that agrees with the judgment changes nothing. */
export function onLateFeedback(
  state: JudgeTables,
  event: TurnFeedback & InputEvent,
  { thumbsSettle = false, laterWishesClear = false }: JudgeSettings,
): readonly JudgmentRevised[] {
  const { turnId, score, advantage, comment } = event.data;
  const before = state.judged.get(turnId);
  if (before === undefined || before.feedback.includes(event.id)) return [];
  const read: JudgedTurn = { ...before, feedback: [...before.feedback, event.id].slice(-MOST_FEEDBACK) };
  state.judged.set(turnId, read);
  const commentHints = score < 0 && comment !== undefined ? acceptedHints([comment]) : [];
  if (laterWishesClear) forgetContrary(state.forms, before.key, commentHints);
  const newHints = commentHints.filter((hint) => !before.hints.includes(hint));
  const agrees = signOf(before) === Math.sign(score);
  if (agrees && newHints.length === 0) {
    state.judged.set(turnId, { ...read, source: 'feedback' });
    return [];
  }
  // a verdict trains once
  if (agrees && thumbsSettle) {
    const confirmed = { ...read, source: 'feedback' } as const;
    return revise(state, event, confirmed, {
      turnId,
      votes: [],
      hints: newHints,
      source: 'feedback',
      score: null,
    });
  }
  // the person likes the answer, so hints from supposed complaints are dropped
  const kept = score < 0 ? before.hints : [];
  return revise(state, event, read, {
    turnId,
    votes: [],
    hints: acceptedHints([...kept, ...commentHints]),
    source: 'feedback',
    score,
    ...defined({
      advantage,
      repeats: thumbsSettle && kept.length > 0 && newHints.length === 0 ? true : undefined,
    }),
  });
}

/** Number of feedback ids that are remembered per turn. */
const MOST_FEEDBACK = 8;

/** The person said so: a judge that takes their next words for a complaint misheard them. */
const isLiked = (judged: JudgedTurn): boolean => judged.source === 'feedback' && signOf(judged) === 1;

/** The sign of the current verdict; undefined: none, or a weak one that feedback replaces. */
const signOf = ({ score, source }: JudgedTurn): number | undefined =>
  score === null || source === 'implicit' ? undefined : Math.sign(score);

type Revision = Pick<
  JudgmentRevised['data'],
  'turnId' | 'score' | 'hints' | 'source' | 'advantage' | 'repeats'
> & {
  readonly votes: readonly Vote[];
};

function revise(
  { judged }: JudgeTables,
  event: InputEvent,
  before: JudgedTurn,
  revision: Revision,
): readonly JudgmentRevised[] {
  const n = before.n + 1;
  if (n > MOST_REVISIONS) return [];
  const { turnId, score, source, hints } = revision;
  const verdict = score === null ? {} : { score, source };
  const { adapter } = before;
  judged.set(turnId, { ...before, ...verdict, n, hints: [...new Set([...before.hints, ...hints])] });
  return [
    JudgmentRevised.create({
      id: `${turnId}/judgment/${n}`,
      source: 'clawloop/judge',
      time: event.time,
      traceparent: event.traceparent,
      data: {
        ...revision,
        ...defined({ adapter }),
        lane: event.subject,
        n,
        by: event.id,
      },
    }),
  ];
}
