import { z } from 'zod';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Keyed } from '../lang/keyed.ts';

export const sessionState = z.object({
  /** rewarded sessions have a task */
  task: z.string().optional(),
  /** a client started it by name */
  isStarted: z.boolean(),
  /** now */
  isClosed: z.boolean(),
  /** at some time; it may have been opened again */
  wasClosed: z.boolean(),
});
export type SessionState = Readonly<z.output<typeof sessionState>>;

const unknown: SessionState = { isStarted: false, isClosed: false, wasClosed: false };

/** Notes what an event says about the session that it names. `session.started` may arrive after an earlier end. */
export function noteSession(sessions: Keyed<SessionState>, event: ClawLoopEvent): void {
  const update = (session: string, change: Partial<SessionState>): void =>
    void sessions.set(session, { ...unknown, ...sessions.get(session), ...change });
  if (event.type === 'session.started')
    update(event.data.session, { task: event.data.task, isStarted: true });
  if (event.type === 'session.opened') update(event.data.session, { isClosed: false });
  if (event.type === 'session.closed') update(event.data.session, { isClosed: true, wasClosed: true });
}
