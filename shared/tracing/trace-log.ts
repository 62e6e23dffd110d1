import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { EventLog } from '../log/event-log.ts';
import { type BatchedSample, batchSpans, type Span, spanOf } from './spans-of-event.ts';

/** turns whose traceparent is remembered */
const REMEMBERED = 10_000;

export type SpanExport = {
  /** Returns at once; sends later. Never throws. */
  readonly send: (spans: readonly Span[]) => void;
  /** Sends what is left. */
  readonly close: () => Promise<void>;
};

/**
 * A log that exports a span for each event that this process writes, once it is durable. The log is the edge where
 * all events pass, so neither folds nor requests know of traces.
 *
 * @param now ms since 1970
 */
export function traceLog(log: EventLog, spans: SpanExport, now: () => number): EventLog {
  const traceparents = rememberTraceparents();
  const exportEvents = (events: readonly ClawLoopEvent[]): void => {
    const written = now();
    for (const event of events) {
      traceparents.note(event);
      if (event.type === 'batch.submitted') {
        void samplesOf(log, event.data.samples).then((samples) =>
          spans.send(batchSpans(event, samples, written)),
        );
        continue;
      }
      const traceparentOf = (turnId: string) => traceparents.of(turnId, event);
      const span = spanOf(event, { written, traceparentOf });
      if (span !== undefined) spans.send([span]);
    }
  };
  return {
    ...log,
    append: async (events) => {
      await log.append(events);
      exportEvents(events);
    },
    process: (fold, options, signal) =>
      log.process(
        {
          ...fold,
          on: (rows, event, at, settings) => {
            traceparents.note(event);
            return fold.on(rows, event, at, settings);
          },
        },
        {
          ...options,
          emitted: (events) => {
            options.emitted?.(events);
            exportEvents(events);
          },
        },
        signal,
      ),
    close: async () => {
      await spans.close();
      await log.close();
    },
  };
}

/** A sample whose record is gone keeps its link, unless a client began its trace. */
async function samplesOf(
  log: Pick<EventLog, 'read'>,
  samples: Extract<ClawLoopEvent, { type: 'batch.submitted' }>['data']['samples'],
): Promise<readonly BatchedSample[]> {
  const found: BatchedSample[] = [];
  for (const { sampleId, at } of samples) {
    const record = await log.read('training', at).catch(() => undefined);
    found.push({ sampleId, traceparent: record?.traceparent });
  }
  return found;
}

/**
 * The traceparents of turns that passed lately. An event that a fold emits carries the traceparent of its cause,
 * which may be another request: the person's next message, or feedback.
 */
function rememberTraceparents() {
  const byTurn = new Map<string, string | undefined>();
  const note = (event: ClawLoopEvent): void => {
    const turnId = ownTurnOf(event);
    if (turnId === undefined) return;
    byTurn.delete(turnId);
    byTurn.set(turnId, event.traceparent);
    if (byTurn.size > REMEMBERED) byTurn.delete(byTurn.keys().next().value!);
  };
  const of = (turnId: string, event: ClawLoopEvent): string | undefined =>
    byTurn.has(turnId) ? byTurn.get(turnId) : event.traceparent;
  return { note, of };
}

/** The turn of an event that carries the traceparent of the turn's own request. */
function ownTurnOf(event: ClawLoopEvent): string | undefined {
  switch (event.type) {
    case 'interaction.completed':
    case 'interaction.failed':
      return event.id;
    case 'turn.completed':
    case 'turn.continued':
      return event.data.turnId;
    default:
      return undefined;
  }
}
