import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { SessionEnded } from '../../../shared/events/session-ended.ts';
import { utcNow } from '../../../shared/service/clock.ts';
import { readEnvelope } from '../chat/envelope.ts';
import { ServingError } from '../errors.ts';
import { callerOf } from '../server.ts';
import { readBody } from './read-body.ts';
import type { ServingWorld } from './world.ts';

const EndBody = z.object({ session: z.string().min(1).max(512).nullish() });

/**
 * Takes the end of a session, so that its last turn settles without the idle time. It has the name that its client
 * gave it, or the one that it was given where its client gave none. A session may go on later all the same, but for
 * one of the session protocol, which ends for good.
 */
export function registerSessions(server: FastifyInstance, world: ServingWorld): void {
  server.post('/v1/sessions/end', async (request, reply) => {
    const body = readBody(EndBody, request.body ?? {});
    const { keyId, sessionKey } = callerOf(request);
    const { session: told } = readEnvelope(request.headers, body.session ?? undefined);
    const own = sessionKey === undefined ? undefined : (await world.sessions.speaking(sessionKey)).session;
    const session = told ?? own;
    if (session === undefined)
      throw ServingError.INVALID_REQUEST({ param: 'session', detail: 'session is missing.' });
    // a client that says which of its own sessions is done does not mean the key's
    if (own !== undefined && session !== own)
      throw ServingError.SESSION_NOT_FOUND({ session, param: 'session' });
    if (await world.sessions.isOpen(keyId, session)) await world.sessions.endNamed(keyId, session, false);
    else await endWhereOpen(world, keyId, session);
    return reply.code(202).send({ object: 'clawloop.session', session, accepted: true });
  });
}

/** @throws ServingError SESSION_NOT_FOUND, NOT_RECORDED */
async function endWhereOpen(
  { namedSessions, recorder }: ServingWorld,
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
