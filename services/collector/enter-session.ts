import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { SessionOpened } from '../../shared/events/session-opened.ts';
import type { SessionStarted } from '../../shared/events/session-started.ts';
import type { SessionRow } from './lane-tables.ts';
import { touchSession } from './session.ts';
import { facts } from './source.ts';
import type { Cause } from './turn-outcome.ts';

/**
 * An event belongs to a session. The first one of an epoch opens it, which is told: how a session was found only
 * the collector knows, and others have to know what may be ended.
 */
export function enterSession(
  { mine, emit }: Cause,
  event: InteractionCompleted | SessionStarted,
  session: string,
  tellsOpened: boolean,
): SessionRow {
  const row = touchSession(mine, session, event);
  const { epoch } = row;
  if (!tellsOpened || epoch !== event.id) return row;
  const data = { lane: event.subject, key: event.data.key, session, epoch };
  emit.push(SessionOpened.create({ ...facts(event), id: `${session}@${epoch}/opened`, data }));
  return row;
}
