import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { TurnSkipped } from '../../shared/events/turn-skipped.ts';
import { VerdictRecorded } from '../../shared/events/verdict-recorded.ts';
import { wishesIn, wishKinds } from '../../shared/wishes/wishes.ts';
import type { WaitingTurn } from './assemble-tables.ts';
import { envelopeOf } from './source.ts';

/**
 * The verdict on a turn, for the topic of the head; none without a verdict. It is emitted at once, while a sample
 * with a verdict of 0 waits for the end of its session: otherwise bad verdicts would arrive earlier than others.
 * A call of a tool that only its result judges has none: a result can show that a call failed, but not that it was
 * right.
 */
export function verdictOf(turn: WaitingTurn, event: JudgmentReached): readonly VerdictRecorded[] {
  const { turnId, score, source, hints, inferred } = event.data;
  if (turn.answered === undefined || score === null) return [];
  if (source !== 'votes' && source !== 'feedback' && source !== 'implicit') return [];
  if (turn.call && source === 'votes') return [];
  const stated = hints.filter((hint) => hint !== inferred).flatMap(wishesIn);
  return [
    VerdictRecorded.create({
      ...envelopeOf(event),
      id: `${turnId}/verdict`,
      data: {
        turnId,
        adapter: turn.adapter,
        ...turn.answered,
        score,
        source,
        wishes: wishKinds.filter((kind) => stated.includes(kind)),
      },
    }),
  ];
}

/**
 * An answer that its limit cut off, or that says nothing, counts as bad, although nobody judges it: a version that
 * never ends its answers would otherwise get no verdicts at all. A client with a low limit cuts off the answers of
 * all versions alike.
 */
export function verdictOfSkipped(event: TurnSkipped): readonly VerdictRecorded[] {
  const { turnId, answered, reason } = event.data;
  if (answered === undefined || (reason !== 'truncated' && reason !== 'empty')) return [];
  return [
    VerdictRecorded.create({
      ...envelopeOf(event),
      id: `${turnId}/verdict`,
      data: { turnId, ...answered, score: -1, source: reason, wishes: [] },
    }),
  ];
}
