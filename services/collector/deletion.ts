import type { InteractionWithdrawn } from '../../shared/events/interaction-withdrawn.ts';
import type { ResponseDeleted } from '../../shared/events/response-deleted.ts';
import { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import { defined } from '../../shared/lang/defined.ts';
import { forgetFirst } from './edited-first.ts';
import { envelopeOf } from './source.ts';
import { type Cause, closeTurn, skipTurn } from './turn-outcome.ts';

/**
 * A deleted or withdrawn interaction no longer trains. An open turn is skipped. A turn whose outcome is already
 * emitted is withdrawn downstream, unless it is in a batch. The interaction itself may arrive later, from an
 * outbox.
 */
export function onDeleted(cause: Cause, event: ResponseDeleted | InteractionWithdrawn, time: number): void {
  const { tables, emit } = cause;
  const { interactionId: turnId, lane, adapter } = event.data;
  const reason = event.type === 'response.deleted' ? ('deleted' as const) : ('withdrawn' as const);
  forgetFirst(tables, turnId);
  const turn = tables.turns.get(turnId);
  if (turn?.status === 'open') {
    if (turn.told === undefined) {
      skipTurn(cause, turnId, turn, { reason });
      return;
    }
    closeTurn(cause, turnId, turn);
  }
  if (turn === undefined) tables.deleted.set(turnId, time);
  const data = {
    turnId,
    lane,
    reason,
    by: event.id,
    ...defined({ adapter }),
  };
  emit.push(TurnWithdrawn.create({ ...envelopeOf(event), id: `${turnId}/withdrawn`, data }));
}
