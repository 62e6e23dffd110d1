import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { watchObligations } from '../../shared/service/metrics.ts';

export type TrainerMetrics = ReturnType<typeof createTrainerMetrics>;

/** What the trainer counts. */
export const createTrainerMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    stepSeconds: new Histogram({
      name: 'clawloop_trainer_step_seconds',
      help: 'from the request to the candidate, its gate included',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600],
      registers,
    }),
    tokensPerSecond: new Gauge({
      name: 'clawloop_trainer_tokens_per_second',
      help: 'prompt and response tokens of the last step by its time',
      registers,
    }),
    outcomes: new Counter({
      name: 'clawloop_trainer_batches_total',
      help: 'batches by outcome: promoted, not-finite, nothing-learned, kl-to-parent, kl-to-base, content, collapse, steerability, strikes, parent-missing, base-changed, training-changed, teacher-missing, samples-missing',
      labelNames: ['outcome', 'adapter'],
      registers,
    }),
    version: new Gauge({
      name: 'clawloop_trainer_version',
      help: 'version of the last step, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    head: new Gauge({
      name: 'clawloop_trainer_head_version',
      help: 'the head of the lineage, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    progress: new Gauge({
      name: 'clawloop_trainer_progress_ratio',
      help: 'share of the samples that the running step has trained on; 0 when none runs',
      registers,
    }),
    lastStep: new Gauge({
      name: 'clawloop_trainer_last_step',
      help: 'figures of the last step of an adapter, by name; docs/learning.md says what they mean',
      labelNames: ['figure', 'adapter'],
      registers,
    }),
    tensors: new Gauge({
      name: 'clawloop_trainer_tensors',
      help: 'tensors alive on the backend after the last step',
      registers,
    }),
  };
};

/** Gauges that are read when they are asked for. */
export function watchBatches(registry: Registry, open: () => number, waitSeconds: () => number): void {
  watchObligations(registry, { batches: open });
  new Gauge({
    name: 'clawloop_batch_wait_seconds',
    help: 'for how long the open batch has waited for its outcome, by the time of its fact; 0: none is open',
    registers: [registry],
    collect() {
      this.set(waitSeconds());
    },
  });
}
