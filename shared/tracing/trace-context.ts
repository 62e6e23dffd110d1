import { createHash } from 'node:crypto';

/** The position of a span. Hexadecimal: 32 and 16 digits. */
export type SpanContext = { readonly traceId: string; readonly spanId: string };

/** What a client's `traceparent` says. */
export type TraceParent = SpanContext & { readonly sampled: boolean };

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads a W3C Trace Context header (section 3.2). Undefined: absent or invalid, so a new trace begins. */
export function readTraceparent(text: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId))
    return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

/** The `traceparent` of the span of a turn's own request. `given`: that of the client. */
export function traceparentOf(turnId: string, given: string | undefined): string {
  const { traceId, sampled } = readTraceparent(given) ?? { traceId: newTraceId(turnId), sampled: true };
  return `00-${traceId}-${spanIdOf(turnId)}-${sampled ? '01' : '00'}`;
}

const digest = (text: string, digits: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, digits);

/**
 * The id of the span of an event, from the event's id. Every service can so compute the parent of its spans, and an
 * event that is exported twice makes one span.
 */
export const spanIdOf = (eventId: string): string => digest(`span\n${eventId}`, 16);

/** The id of the trace that begins with a request or a batch, if no client gave it one. */
export const newTraceId = (name: string): string => digest(`trace\n${name}`, 32);
