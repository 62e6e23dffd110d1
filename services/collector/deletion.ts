import type { InteractionWithdrawn } from '../../shared/events/interaction-withdrawn.ts';
import type { ResponseDeleted } from '../../shared/events/response-deleted.ts';
import { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import { forgetFirst } from './edited-first.ts';
import { facts } from './source.ts';
import { type Cause, closeTold, skipTurn } from './turn-outcome.ts';

/**
 * What its client deleted, or an operator took back, does not train from now on. A turn that is told already is withdrawn: by whoever has
 * it now, if it is in no batch yet. The fact of the answer may come later, out of an outbox.
 */
export function onDeleted(cause: Cause, event: ResponseDeleted | InteractionWithdrawn, time: number): void {
  const { mine, emit } = cause;
  const { interactionId: turnId, lane, adapter } = event.data;
  const reason = event.type === 'response.deleted' ? ('deleted' as const) : ('withdrawn' as const);
  forgetFirst(mine, turnId);
  const turn = mine.turns.get(turnId);
  if (turn?.status === 'open') {
    if (turn.told === undefined) {
      skipTurn(cause, turnId, turn, reason);
      return;
    }
    closeTold(cause, turnId, turn);
  }
  if (turn === undefined) mine.deleted.set(turnId, time);
  const data = {
    ...{ turnId, lane, reason, by: event.id },
    ...(adapter === undefined ? {} : { adapter }),
  };
  emit.push(TurnWithdrawn.create({ ...facts(event), id: `${turnId}/withdrawn`, data }));
}
