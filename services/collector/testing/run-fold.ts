import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Fold, InputEvent } from '../../../shared/log/fold.ts';
import { completed } from '../../../shared/log/fold-chunk.ts';
import { type MemoryRows, memoryRows } from '../../../shared/log/rows.ts';

export type Run = {
  readonly emitted: readonly ClawLoopEvent[];
  /** by subject */
  readonly rows: ReadonlyMap<string, MemoryRows>;
};

/**
 * Folds a list of events of one partition like a log: rows per subject, deferred events created from the
 * records that they read.
 *
 * @param log `records`: what can be read at each offset, if it differs from the folded events; `rows`: of an earlier
 *   run, which they continue
 */
export function runFold<Settings>(
  fold: Fold<Settings>,
  events: readonly InputEvent[],
  settings: Settings,
  log: { readonly records?: readonly (ClawLoopEvent | undefined)[]; readonly rows?: Run['rows'] } = {},
): Run {
  const { records = events } = log;
  const rows = new Map<string, MemoryRows>(log.rows);
  const emitted: ClawLoopEvent[] = [];
  events.forEach((event, offset) => {
    const subjectRows = rows.get(event.subject) ?? memoryRows();
    rows.set(event.subject, subjectRows);
    const { changes, emit } = fold.on(subjectRows, event, { partition: 0, offset }, settings);
    subjectRows.apply(changes);
    for (const emission of emit)
      emitted.push('reads' in emission ? completed(emission, records[emission.reads.offset]) : emission);
  });
  return { emitted, rows };
}

/** An event in one line, for lists of expected events. */
export function brief(event: ClawLoopEvent): string {
  switch (event.type) {
    case 'turn.completed':
      return `completed ${event.data.turnId} <- ${event.data.next.map(({ content }) => content).join(' | ')}`;
    case 'turn.continued':
      return `continued ${event.data.turnId} <- ${event.data.next.map(({ content }) => content).join(' | ')}`;
    case 'turn.skipped':
      return `skipped ${event.data.turnId}: ${event.data.reason}`;
    case 'turn.feedback':
      return `feedback ${event.data.turnId}: ${event.data.score}`;
    case 'session.opened':
      return `opened ${event.data.session}`;
    case 'session.closed':
      return `closed ${event.data.session}`;
    case 'turn.withdrawn':
      return `withdrawn ${event.data.turnId}: ${event.data.adapter ?? 'of some adapter'}`;
    case 'sample.withdrawn':
      return `withdrawn sample ${event.data.sampleId}`;
    case 'judgment.revised':
      return `revised ${event.data.turnId}: ${event.data.score} [${event.data.hints.join(' | ')}]`;
    case 'verdict.recorded':
      return `verdict ${event.data.turnId}: ${event.data.score} for v${event.data.version}`;
    case 'policy.promoted':
      return `promoted v${event.data.to}`;
    case 'policy.rejected':
      return `rejected ${event.data.batchId}: ${event.data.reason}`;
    case 'policy.rolled-back':
      return `rolled back v${event.data.from} to v${event.data.to}`;
    case 'sample.ready':
      return `ready ${event.data.sampleId}: ${event.data.verdict}${event.data.soft ? ' (soft)' : ''}`;
    case 'sample.dropped':
      return `dropped ${event.data.sampleId}: ${event.data.reason}`;
    case 'batch.submitted':
      return [
        `batch ${event.data.n} on v${event.data.parent}:`,
        ...event.data.samples.map(({ sampleId }) => sampleId),
      ].join(' ');
    default:
      return event.type;
  }
}
