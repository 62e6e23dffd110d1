import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { utcNow } from '../../../shared/runtime/clock.ts';
import { readEnvelope } from '../answer/envelope.ts';
import { ServingError } from '../errors.ts';
import { callerOf } from '../http/caller.ts';
import { readBody } from '../http/read-body.ts';
import type { BodyConfig } from '../http/request-bodies.ts';
import type { ApiDeps } from './api-deps.ts';

const EndBody = z.object({ session: z.string().min(1).max(512).nullish() });

/**
 * Ends a session, so that its last turn settles without waiting for the idle time. The session is identified by the
 * name that the client or, if it gave none, the collector chose. A session can continue after its end, except one of
 * the session protocol.
 */
export function registerSessions(server: FastifyInstance, deps: ApiDeps): void {
  const config: BodyConfig = { mayBeEmpty: true };
  server.post('/v1/sessions/end', { config }, async (request, reply) => {
    const body = readBody(EndBody, request.body ?? {});
    const { keyId, sessionKey } = callerOf(request);
    const { session: named } = readEnvelope(request.headers, body.session ?? undefined);
    const ownSession =
      sessionKey === undefined ? undefined : (await deps.sessions.current(sessionKey)).session;
    const session = named ?? ownSession;
    if (session === undefined)
      throw ServingError.INVALID_REQUEST({ param: 'session', detail: 'session is missing.' });
    // a client that names one of its own sessions does not mean the key's session
    if (ownSession !== undefined && session !== ownSession)
      throw ServingError.SESSION_NOT_FOUND({ session, param: 'session' });
    if (await deps.sessions.isOpen(keyId, session)) await deps.sessions.endNamed(keyId, session, false);
    else await endWhereOpen(deps, keyId, session);
    return reply.code(202).send({ object: 'clawloop.session', session, accepted: true });
  });
}

/** @throws ServingError SESSION_NOT_FOUND, NOT_RECORDED */
async function endWhereOpen(
  { namedSessions, recorder }: ApiDeps,
  keyId: string,
  session: string,
): Promise<void> {
  const lanes = await namedSessions.lanesOf(keyId, session);
  if (lanes.length === 0) throw ServingError.SESSION_NOT_FOUND({ session, param: 'session' });
  for (const lane of lanes) {
    const event = SessionEnded.create({
      id: `session-ended-${randomUUID()}`,
      source: 'clawloop/serving',
      time: utcNow(),
      data: { lane, key: keyId, session, reason: 'explicit' },
    });
    if (!(await recorder.record(event))) throw ServingError.NOT_RECORDED({ retryAfterSeconds: 5 });
  }
  namedSessions.ended(keyId, session);
}
