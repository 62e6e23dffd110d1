import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { withDeadline } from '../lang/async.ts';
import { defined } from '../lang/defined.ts';
import type { Logger } from '../runtime/logger.ts';
import { createWaitNotice } from '../runtime/wait-notice.ts';
import type { Span } from './spans-of-event.ts';
import type { SpanContext } from './trace-context.ts';
import type { SpanExport } from './trace-log.ts';

/** ms to send the last spans when a service ends */
const CLOSE_LIMIT_MS = 1_000;
/** ms between two sends */
const INTERVAL_MS = 1_000;

/** The fields that all spans of a service share. */
type Common = Pick<
  ReadableSpan,
  | 'resource'
  | 'instrumentationScope'
  | 'ended'
  | 'events'
  | 'droppedAttributesCount'
  | 'droppedEventsCount'
  | 'droppedLinksCount'
>;

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

/**
 * Sends spans to an OTLP/HTTP receiver, in batches and in the background. Spans that do not fit into the queue are
 * dropped, and so are those that the receiver does not take. Headers and time limits come from the standard
 * variables OTEL_EXPORTER_OTLP_*.
 *
 * @param endpoint base URL; the path `/v1/traces` is added if it is missing
 */
export function openOtlp(
  endpoint: string,
  service: string,
  logger: Pick<Logger, 'warn' | 'info'>,
): SpanExport {
  const exporter = new OTLPTraceExporter({ url: tracesUrl(endpoint) });
  const processor = new BatchSpanProcessor({
    exporter: noticing(exporter, logger),
    scheduledDelayMillis: INTERVAL_MS,
  });
  const resource = resourceFromAttributes({
    'service.namespace': 'clawloop',
    'service.name': `clawloop-${service}`,
  });
  const common: Common = {
    resource,
    instrumentationScope: { name: 'clawloop' },
    ended: true,
    events: [],
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
  return {
    send: (spans) => {
      for (const span of spans) processor.onEnd({ ...common, ...readable(span) });
    },
    close: () =>
      withDeadline(
        processor.shutdown().catch(() => {}),
        CLOSE_LIMIT_MS,
        () => {},
      ),
  };
}

function readable(span: Span): Omit<ReadableSpan, keyof Common> {
  const { traceId, parentId, failure } = span;
  const context = (spanId: string) => contextOf({ traceId, spanId });
  return {
    name: span.name,
    kind: kinds[span.kind],
    spanContext: () => context(span.spanId),
    ...defined({ parentSpanContext: parentId === undefined ? undefined : context(parentId) }),
    startTime: hrTime(span.start),
    endTime: hrTime(span.end),
    duration: hrTime(span.end - span.start),
    status:
      failure === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: failure },
    attributes: Object.fromEntries(
      Object.entries(span.attributes).flatMap(([name, value]) =>
        value === null || value === undefined ? [] : [[name, typeof value === 'object' ? [...value] : value]],
      ),
    ),
    links: span.links.map((link) => ({ context: contextOf(link) })),
  };
}

const contextOf = (context: SpanContext) => ({ ...context, traceFlags: TraceFlags.SAMPLED });

/** Seconds and nanoseconds. */
const hrTime = (milliseconds: number): [number, number] => {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
};

function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint);
  if (!url.pathname.endsWith('/v1/traces')) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url.href;
}

/** Logs when the receiver does not take spans, and when it takes them again. */
function noticing(exporter: OTLPTraceExporter, logger: Pick<Logger, 'warn' | 'info'>): SpanExporter {
  const notice = createWaitNotice({
    away: (reason, seconds) => logger.warn({ reason, seconds }, 'cannot export traces; spans are dropped'),
    back: (seconds) => logger.info({ seconds }, 'traces are exported again'),
  });
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error === undefined && result.code === 0) notice.back();
        else notice.away(result.error?.message ?? 'the receiver refused the spans');
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}
