import type { IncomingHttpHeaders } from 'node:http';
import { readTraceparent } from '../../../shared/tracing/trace-context.ts';
import { ServingError } from '../errors.ts';
import { readProgramHeaders } from './program-headers.ts';

/** Information about a request besides its messages. */
export type Envelope = {
  readonly session: string | undefined;
  readonly turnType: 'main' | 'side' | undefined;
  readonly sessionDone: boolean;
  readonly traceparent: string | undefined;
  readonly requestId: string | undefined;
};

const LONGEST = 512;

/**
 * Reads the headers. The `:<boundary>` suffix of affinity headers counts compactions and resets of one session; it is
 * removed. @throws ServingError INVALID_REQUEST
 */
export function readEnvelope(headers: IncomingHttpHeaders, bodySession?: string): Envelope {
  const raw = (name: string): string | undefined => {
    const value = headers[name];
    return (Array.isArray(value) ? value[0] : value)?.trim();
  };
  const header = (name: string): string | undefined => {
    const text = raw(name);
    if (text !== undefined && text.length > LONGEST) {
      throw ServingError.INVALID_REQUEST({ param: name, detail: `The header ${name} is too long.` });
    }
    return text === '' ? undefined : text;
  };
  const affinity = utf8(header('x-session-id') ?? header('session_id') ?? header('x-session-affinity'));
  const program = readProgramHeaders(raw);
  const turnType = header('x-turn-type')?.toLowerCase() ?? program.turnType;
  if (turnType !== undefined && turnType !== 'main' && turnType !== 'side') {
    throw ServingError.INVALID_REQUEST({ param: 'x-turn-type', detail: 'x-turn-type must be main or side.' });
  }
  const programSession = utf8(program.session?.slice(0, LONGEST));
  const session =
    withoutBoundary(affinity) ?? (bodySession?.toWellFormed().trim() || programSession || undefined);
  if (session !== undefined && /\p{Cc}/u.test(session)) {
    const detail = 'The name of a session must not contain control characters.';
    throw ServingError.INVALID_REQUEST({ param: 'session_id', detail });
  }
  const traceparent = header('traceparent');
  return {
    session,
    turnType,
    sessionDone: /^(true|1)$/i.test(header('x-session-done') ?? ''),
    traceparent: readTraceparent(traceparent) === undefined ? undefined : traceparent,
    requestId: header('x-request-id') ?? header('x-client-request-id'),
  };
}

/** Node decodes headers as Latin-1, but clients send names beyond ASCII as UTF-8. */
function utf8(header: string | undefined): string | undefined {
  if (header === undefined || !/[\x80-\xff]/.test(header)) return header;
  const text = Buffer.from(header, 'latin1').toString('utf8');
  return text.includes('\ufffd') ? header : text;
}

const withoutBoundary = (affinity: string | undefined): string | undefined =>
  affinity?.replace(/:\d+$/, '') || undefined;
