import { JudgmentRevised } from '../../shared/events/judgment-revised.ts';
import type { Position } from '../../shared/events/position.ts';
import type { TurnContinued } from '../../shared/events/turn-continued.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import type { JudgeSettings } from './judge-fold.ts';
import type { JudgedTurn, JudgeTables, OpenTurn } from './judge-rows.ts';
import { acceptedHints, hintsOf, tally, type Vote, votesOf } from './tally.ts';

/** Of one turn. Who presses both thumbs in turn trains no turn without end. */
export const MOST_REVISIONS = 4;

/**
 * A person spoke after a turn was settled by their thumb, or by what they did. The judges are asked what the
 * words bring: a hint beside a thumb, and a verdict where there was none in so many words.
 */
export function onContinued(
  { turns, judged }: JudgeTables,
  { data }: TurnContinued & InputEvent,
  at: Position,
  { votes, hintVotes = 0 }: JudgeSettings,
): readonly JudgmentRevised[] {
  const { turnId, key, session, epoch, settle, adapter } = data;
  const open = turns.get(turnId);
  if (open?.silent) {
    const { silent: _, ...speaks } = open;
    turns.set(turnId, { ...speaks, at });
  }
  const before = judged.get(turnId);
  if (open !== undefined || before === undefined || before.continued) return [];
  judged.set(turnId, { ...before, continued: true });
  const needs = before.source === 'feedback' && hintVotes > 0 ? 0 : votes;
  turns.set(turnId, {
    ...{ key, session, epoch, settle, adapter, at, needs, votes: {}, told: true },
    ...(hintVotes === 0 ? {} : { needsHints: hintVotes, hints: {} }),
  });
  return [];
}

/** The votes on such words are in, or nobody waits for more. */
export function onWords(
  state: JudgeTables,
  event: InputEvent & { readonly data: { readonly turnId: string } },
  turn: OpenTurn,
): readonly JudgmentRevised[] {
  const { turnId } = event.data;
  state.turns.delete(turnId);
  const before = state.judged.get(turnId);
  if (before === undefined) return [];
  const hints = acceptedHints(hintsOf(turn)).filter((hint) => !before.hints.includes(hint));
  const votes = votesOf(turn);
  const isHeard = before.source !== 'feedback' && votes.length >= turn.needs;
  const { score } = isHeard ? tally(votes) : { score: 0 };
  if (score === 0 && hints.length === 0) return [];
  return revise(state, event, before, {
    ...{ turnId, votes, hints, source: 'votes', score: score === 0 ? null : score },
  });
}

/** A thumb outranks all but a later one. One that says the same as what stands changes nothing. */
export function onLateFeedback(
  state: JudgeTables,
  event: TurnFeedback & InputEvent,
): readonly JudgmentRevised[] {
  const { turnId, score, advantage, comment } = event.data;
  const before = state.judged.get(turnId);
  if (before === undefined || before.feedback.includes(event.id)) return [];
  const read: JudgedTurn = { ...before, feedback: [...before.feedback, event.id].slice(-MOST_FEEDBACK) };
  state.judged.set(turnId, read);
  const own = score < 0 && comment !== undefined ? acceptedHints([comment]) : [];
  const isNew = own.some((hint) => !before.hints.includes(hint));
  if (says(before) === Math.sign(score) && !isNew) {
    state.judged.set(turnId, { ...read, source: 'feedback' });
    return [];
  }
  // what a judge took for a complaint about an answer that the person likes is no hint
  const kept = score < 0 ? before.hints : [];
  return revise(state, event, read, {
    ...{ turnId, votes: [], hints: acceptedHints([...kept, ...own]), source: 'feedback', score },
    ...(advantage === undefined ? {} : { advantage }),
  });
}

/** Feedback on one turn whose ids are remembered. */
const MOST_FEEDBACK = 8;

/** The sign of the verdict that stands; undefined: none, or so weak a one that a thumb says more. */
const says = ({ score, source }: JudgedTurn): number | undefined =>
  score === null || source === 'implicit' ? undefined : Math.sign(score);

type Revision = Pick<JudgmentRevised['data'], 'turnId' | 'score' | 'hints' | 'source' | 'advantage'> & {
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
  const stands = score === null ? {} : { score, source };
  const { adapter } = before;
  judged.set(turnId, { ...before, ...stands, n, hints: [...new Set([...before.hints, ...hints])] });
  return [
    JudgmentRevised.create({
      id: `${turnId}/judgment/${n}`,
      source: 'clawloop/judge',
      time: event.time,
      traceparent: event.traceparent,
      data: {
        ...revision,
        ...(adapter === undefined ? {} : { adapter }),
        ...{ lane: event.subject, n, by: event.id },
      },
    }),
  ];
}
