import { Counter, type Registry } from 'prom-client';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { kindsOf } from './disagreement.ts';

/** Counts the events that this process has committed. */
export const createCollectorMetrics = (registry: Registry) => {
  const registers = [registry];
  const turns = new Counter({
    name: 'clawloop_turns_total',
    help: 'turns by outcome: completed, to be judged, or skipped, with the reason',
    labelNames: ['outcome', 'reason'],
    registers,
  });
  const samples = new Counter({
    name: 'clawloop_samples_total',
    help: 'samples by outcome: ready to train, or dropped with a reason',
    labelNames: ['outcome', 'reason'],
    registers,
  });
  const batches = new Counter({
    name: 'clawloop_batches_submitted_total',
    help: 'batches formed',
    registers,
  });
  const rollbacks = new Counter({
    name: 'clawloop_automatic_rollbacks_total',
    help: 'versions that were rolled back because their verdicts were worse',
    labelNames: ['adapter'],
    registers,
  });
  const canaries = new Counter({
    name: 'clawloop_canary_decisions_total',
    help: 'canaries by the decision of their verdicts: promoted or rejected',
    labelNames: ['adapter', 'decision'],
    registers,
  });
  const disagreements = new Counter({
    name: 'clawloop_attribution_disagreements_total',
    help: 'turns whose content disagrees with the client about the session (session) or the type (said-main, said-side)',
    labelNames: ['kind'],
    registers,
  });
  const count = (event: ClawLoopEvent): void => {
    if (event.type === 'turn.completed' || event.type === 'turn.skipped')
      for (const kind of event.data.disagreement ? kindsOf(event.data.disagreement) : [])
        disagreements.inc({ kind });
    if (event.type === 'turn.completed') turns.inc({ outcome: 'completed', reason: '' });
    if (event.type === 'turn.skipped') turns.inc({ outcome: 'skipped', reason: event.data.reason });
    if (event.type === 'sample.ready') samples.inc({ outcome: 'ready', reason: '' });
    if (event.type === 'sample.dropped') samples.inc({ outcome: 'dropped', reason: event.data.reason });
    if (event.type === 'batch.submitted') batches.inc();
    if (event.type === 'policy.promoted' || event.type === 'policy.rejected')
      canaries.inc({
        adapter: event.data.adapter,
        decision: event.type === 'policy.promoted' ? 'promoted' : 'rejected',
      });
    if (event.type === 'policy.rolled-back') rollbacks.inc({ adapter: event.data.adapter });
  };
  return {
    /** for `emitted` of each fold */
    count: (events: readonly ClawLoopEvent[]): void => events.forEach(count),
    swept: new Counter({
      name: 'clawloop_collector_timers_total',
      help: 'expired timers: idle sessions, lanes at rest, waiting samples, canaries',
      labelNames: ['timer'],
      registers,
    }),
  };
};
