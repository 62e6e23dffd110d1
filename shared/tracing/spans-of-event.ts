import type { BatchSubmitted } from '../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { turnOfSample } from '../events/sample-id.ts';
import { newTraceId, readTraceparent, type SpanContext, spanIdOf } from './trace-context.ts';

type Attribute = string | number | boolean | readonly string[];

/** A span as plain data. It holds ids, names and numbers; never text of a person or a model. */
export type Span = SpanContext & {
  readonly parentId: string | undefined;
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  /** ms since 1970 */
  readonly start: number;
  readonly end: number;
  readonly attributes: Readonly<Record<string, Attribute | null | undefined>>;
  readonly links: readonly SpanContext[];
  /** a code; undefined: it did not fail */
  readonly failure?: string | undefined;
};

/** What the event alone does not say. */
export type EventContext = {
  /** ms since 1970 when the event was durable */
  readonly written: number;
  /** the client's traceparent of a turn's own request; undefined: none */
  readonly traceparentOf: (turnId: string) => string | undefined;
};

/** A sample of a batch, with the traceparent of its event. */
export type BatchedSample = { readonly sampleId: string; readonly traceparent: string | undefined };

type Described = Pick<Span, 'attributes'> & Partial<Omit<Span, 'attributes'>>;

/**
 * The span of an event, if the event is a step on the way from a request to weights: undefined otherwise, and if
 * the client decided not to sample the trace. A batch has a trace of its own; see `batchSpans`.
 */
export function spanOf(event: ClawLoopEvent, context: EventContext): Span | undefined {
  const ofTurn = turnSpan(event);
  const ofVersion = ofTurn === undefined ? versionSpan(event) : undefined;
  if (ofTurn === undefined && ofVersion === undefined) return undefined;
  const parent = ofTurn === undefined ? undefined : readTraceparent(context.traceparentOf(ofTurn.turnId));
  if (parent?.sampled === false) return undefined;
  const { trace, follows, described } = ofTurn ?? ofVersion!;
  const { attributes, ...rest } = described;
  return {
    traceId: parent?.traceId ?? newTraceId(trace),
    spanId: spanIdOf(event.id),
    parentId: follows === undefined ? parent?.spanId : spanIdOf(follows),
    name: event.type,
    kind: 'internal',
    start: Date.parse(event.time),
    end: Math.max(context.written, Date.parse(event.time)),
    links: [],
    ...rest,
    attributes: { 'clawloop.event.id': event.id, ...attributes },
  };
}

type Placed = {
  /** begins the trace, if no client did */
  readonly trace: string;
  /** id of the event whose span is the parent; undefined: the client's span, or none */
  readonly follows: string | undefined;
  readonly described: Described;
};

/** Events about one turn. Their trace is that of the turn's request. */
function turnSpan(event: ClawLoopEvent): (Placed & { readonly turnId: string }) | undefined {
  const placed = (turnId: string, follows: string | undefined, described: Described) => ({
    trace: turnId,
    turnId,
    follows,
    described,
  });
  switch (event.type) {
    case 'interaction.completed':
      return placed(event.id, undefined, requestSpan(event.data));
    case 'interaction.failed': {
      const { adapter, lane, code } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.lane': lane, 'error.type': code };
      return placed(event.id, undefined, { attributes, kind: 'server', failure: code });
    }
    case 'turn.completed':
    case 'turn.continued': {
      const { turnId, adapter, version, rule, settle } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.version': version };
      return placed(turnId, turnId, {
        attributes: { ...attributes, 'clawloop.rule': rule, 'clawloop.settle': settle },
      });
    }
    case 'turn.skipped': {
      const { turnId, reason } = event.data;
      return placed(turnId, turnId, { attributes: { 'clawloop.reason': reason } });
    }
    case 'turn.feedback': {
      const { turnId, score } = event.data;
      return placed(turnId, turnId, { attributes: { 'clawloop.score': score } });
    }
    case 'vote.cast':
    case 'hint.cast': {
      const { turnId, judge, model, index, cost } = event.data;
      const end = Date.parse(event.time);
      const attributes = {
        'clawloop.judge': judge,
        'gen_ai.request.model': model,
        'clawloop.vote.index': index,
        'clawloop.vote': event.type === 'vote.cast' ? event.data.vote : event.data.decision,
        'gen_ai.usage.input_tokens': cost.promptTokens,
        'gen_ai.usage.output_tokens': cost.completionTokens,
      };
      const times = { start: end - cost.milliseconds, end };
      return placed(turnId, `${turnId}/completed`, { attributes, ...times });
    }
    case 'judgment.reached':
    case 'judgment.revised': {
      const { turnId, score, source, votes } = event.data;
      const attributes = { 'clawloop.score': score, 'clawloop.source': source };
      return placed(turnId, `${turnId}/completed`, {
        attributes: { ...attributes, 'clawloop.votes': votes.length },
      });
    }
    case 'sample.ready': {
      const { sampleId, adapter, version, verdict, source } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.version': version };
      return placed(turnOfSample(sampleId), judgmentOf(sampleId), {
        attributes: { ...attributes, 'clawloop.score': verdict, 'clawloop.source': source },
      });
    }
    case 'sample.dropped': {
      const { sampleId, adapter, reason } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.reason': reason };
      return placed(turnOfSample(sampleId), judgmentOf(sampleId), { attributes });
    }
    default:
      return undefined;
  }
}

/** Id of the judgment that made a sample: `<turn>/judgment`, or `<turn>/judgment/<n>` for `<turn>~<n>`. */
function judgmentOf(sampleId: string): string {
  const turnId = turnOfSample(sampleId);
  const revision = sampleId.slice(turnId.length + 1);
  return `${turnId}/judgment${revision === '' ? '' : `/${revision}`}`;
}

/** Names follow OpenTelemetry's semantic conventions for generative AI. */
function requestSpan(data: Extract<ClawLoopEvent, { type: 'interaction.completed' }>['data']): Described {
  const start = Date.parse(data.timing.startedAt);
  return {
    name: `chat ${data.adapter}`,
    kind: 'server',
    start,
    end: start + data.timing.totalMs,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'clawloop',
      'gen_ai.response.id': data.interactionId,
      'gen_ai.response.model': `${data.adapter}@v${data.version}`,
      'gen_ai.response.finish_reasons': [data.finishReason],
      'gen_ai.usage.input_tokens': data.usage.promptTokens,
      'gen_ai.usage.output_tokens': data.usage.completionTokens,
      'clawloop.adapter': data.adapter,
      'clawloop.version': data.version,
      'clawloop.api': data.api,
      'clawloop.engine': data.engine,
      'clawloop.lane': data.lane,
      'clawloop.request.id': data.requestId,
      'clawloop.first_token_ms': data.timing.firstTokenMs,
      'clawloop.disconnected': data.disconnected,
    },
  };
}

/** Events about one version. Their trace begins with the batch. */
function versionSpan(event: ClawLoopEvent): Placed | undefined {
  switch (event.type) {
    case 'policy.trained': {
      const { batchId, adapter, version, parent, metrics, milliseconds } = event.data;
      const end = Date.parse(event.time);
      const figures = Object.entries(metrics).map(([name, value]) => [`clawloop.metric.${name}`, value]);
      const attributes = {
        'clawloop.adapter': adapter,
        'clawloop.version': version,
        'clawloop.parent': parent,
        ...(Object.fromEntries(figures) as Record<string, number>),
      };
      return ofBatch(batchId, { attributes, start: end - milliseconds, end });
    }
    case 'policy.promoted': {
      const { batchId, adapter, from, to } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.version': to, 'clawloop.parent': from };
      return ofBatch(batchId, { attributes });
    }
    case 'policy.canary-started': {
      const { batchId, adapter, from, to, share } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.version': to, 'clawloop.parent': from };
      return ofBatch(batchId, { attributes: { ...attributes, 'clawloop.share': share } });
    }
    case 'policy.rolled-back': {
      const { adapter, from, to, cause } = event.data;
      if (from === 0) return undefined; // the base comes from no batch
      const batchId = `${adapter}/batch/${from}`;
      const attributes = { 'clawloop.adapter': adapter, 'clawloop.version': from, 'clawloop.target': to };
      return {
        trace: batchId,
        follows: `${batchId}/promoted`,
        described: { attributes: { ...attributes, 'clawloop.cause': cause ?? 'operator' } },
      };
    }
    case 'policy.rejected': {
      const { batchId, adapter, reason } = event.data;
      return ofBatch(batchId, { attributes: { 'clawloop.adapter': adapter, 'clawloop.reason': reason } });
    }
    case 'policy.update-failed': {
      const { batchId, adapter, reason } = event.data;
      const attributes = { 'clawloop.adapter': adapter, 'error.type': reason };
      return ofBatch(batchId, { attributes, failure: reason });
    }
    case 'policy.loaded': {
      const { adapter, version, replica, milliseconds } = event.data;
      if (version === 0) return undefined; // the base comes from no batch
      const batchId = `${adapter}/batch/${version}`;
      const end = Date.parse(event.time);
      const attributes = {
        'clawloop.adapter': adapter,
        'clawloop.version': version,
        'clawloop.replica': replica,
      };
      return {
        trace: batchId,
        follows: `${batchId}/promoted`,
        described: { attributes, start: end - milliseconds, end },
      };
    }
    default:
      return undefined;
  }
}

const ofBatch = (batchId: string, described: Described): Placed => ({
  trace: batchId,
  follows: batchId,
  described,
});

/**
 * The spans of a batch: the root of its own trace, linked to all its samples; and in the trace of each sample a
 * span that links to the batch. So a person finds the step of a message, and the messages of a step.
 */
export function batchSpans(
  event: BatchSubmitted,
  samples: readonly BatchedSample[],
  written: number,
): readonly Span[] {
  const { batchId, adapter, n, parent, settings } = event.data;
  const start = Date.parse(event.time);
  const times = { start, end: Math.max(written, start) };
  const root = { traceId: newTraceId(batchId), spanId: spanIdOf(batchId) };
  const sampled = samples.flatMap(({ sampleId, traceparent }) => {
    const given = readTraceparent(traceparent);
    if (given?.sampled === false) return [];
    const traceId = given?.traceId ?? newTraceId(turnOfSample(sampleId));
    return [{ sampleId, traceId, spanId: spanIdOf(`${sampleId}/ready`) }];
  });
  const common = { 'clawloop.adapter': adapter, 'clawloop.version': n, 'clawloop.parent': parent };
  const batch: Span = {
    ...root,
    ...times,
    parentId: undefined,
    name: event.type,
    kind: 'internal',
    attributes: {
      'clawloop.event.id': event.id,
      ...common,
      'clawloop.samples': samples.length,
      'clawloop.method': settings.method,
    },
    links: sampled.map(({ traceId, spanId }) => ({ traceId, spanId })),
  };
  const inTraces = sampled.map(
    ({ sampleId, traceId, spanId }): Span => ({
      ...times,
      traceId,
      spanId: spanIdOf(`${batchId}/${sampleId}`),
      parentId: spanId,
      name: 'sample.batched',
      kind: 'internal',
      attributes: { 'clawloop.batch.id': batchId, ...common },
      links: [root],
    }),
  );
  return [batch, ...inTraces];
}
