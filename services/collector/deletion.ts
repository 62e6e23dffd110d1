import type { ResponseDeleted } from '../../shared/events/response-deleted.ts';
import { TurnWithdrawn } from '../../shared/events/turn-withdrawn.ts';
import { facts } from './source.ts';
import { type Cause, skipTurn } from './turn-outcome.ts';

/**
 * What its client deleted does not train from now on. A turn that is told already is withdrawn: by whoever has
 * it now, if it is in no batch yet. The fact of the answer may come later, out of an outbox.
 */
export function onDeleted(cause: Cause, event: ResponseDeleted, time: number): void {
  const { mine, emit } = cause;
  const { interactionId: turnId, lane, adapter } = event.data;
  const turn = mine.turns.get(turnId);
  if (turn?.status === 'open') {
    skipTurn(cause, turnId, turn, 'deleted');
    return;
  }
  if (turn === undefined) mine.deleted.set(turnId, time);
  const data = {
    ...{ turnId, lane, reason: 'deleted' as const, by: event.id },
    ...(adapter === undefined ? {} : { adapter }),
  };
  emit.push(TurnWithdrawn.create({ ...facts(event), id: `${turnId}/withdrawn`, data }));
}
