import type { FastifyInstance, FastifyRequest } from 'fastify';
import { ServingError } from '../errors.ts';
import type { Caller } from './access.ts';

const CALLER = 'caller';

/** Gives each request of a server room for its caller. Call this before adding routes. */
export function decorateCaller(server: FastifyInstance): void {
  server.decorateRequest(CALLER, null);
}

export const setCaller = (request: FastifyRequest, caller: Caller): void =>
  request.setDecorator<Caller>(CALLER, caller);

/** Undefined: the request needed no key, or was refused before its key was checked. */
export const callerIfKnown = (request: FastifyRequest): Caller | undefined =>
  request.getDecorator<Caller | null>(CALLER) ?? undefined;

/** The caller of a request that passed the access check. */
export const callerOf = (request: FastifyRequest): Caller => request.getDecorator<Caller>(CALLER);

/** The caller of a request that needs an access key. @throws ServingError NOT_FOR_SESSION_KEYS */
export function accessCallerOf(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (caller.sessionKey !== undefined) throw ServingError.NOT_FOR_SESSION_KEYS();
  return caller;
}
