import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { SessionOpened } from '../../shared/events/session-opened.ts';
import type { SessionStarted } from '../../shared/events/session-started.ts';
import type { SessionRow } from './lane-tables.ts';
import { touchSession } from './session.ts';
import { envelopeOf } from './source.ts';
import type { Cause } from './turn-outcome.ts';

/**
 * Adds an event to a session. The first event of an epoch opens it and emits `session.opened`: only the
 * collector knows how a session was found, and others need to know which sessions can be ended.
 */
export function enterSession(
  { tables, emit }: Cause,
  event: InteractionCompleted | SessionStarted,
  session: string,
  tellsOpened: boolean,
): SessionRow {
  const row = touchSession(tables, session, event);
  const { epoch } = row;
  if (!tellsOpened || epoch !== event.id) return row;
  const data = { lane: event.subject, key: event.data.key, session, epoch };
  emit.push(SessionOpened.create({ ...envelopeOf(event), id: `${session}@${epoch}/opened`, data }));
  return row;
}
