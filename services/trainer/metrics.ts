import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { watchObligations } from '../../shared/runtime/metrics.ts';
import type { ServerUsage } from '../../shared/tinker/training-server.ts';

export type TrainerMetrics = ReturnType<typeof createTrainerMetrics>;

/** The trainer's metrics. */
export const createTrainerMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    stepSeconds: new Histogram({
      name: 'clawloop_trainer_step_seconds',
      help: 'duration of a step, from the request to the candidate, gate included',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600],
      registers,
    }),
    tokensPerSecond: new Gauge({
      name: 'clawloop_trainer_tokens_per_second',
      help: 'prompt and response tokens of the last step per second',
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
      help: 'version that the last step produced, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    head: new Gauge({
      name: 'clawloop_trainer_head_version',
      help: 'head of the lineage, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    progress: new Gauge({
      name: 'clawloop_trainer_progress_ratio',
      help: 'share of samples that the running step of an adapter has trained on; absent if none runs',
      labelNames: ['adapter'],
      registers,
    }),
    lastStep: new Gauge({
      name: 'clawloop_trainer_last_step',
      help: "figures of an adapter's last step, by name; docs/understand/learning.md explains them",
      labelNames: ['figure', 'adapter'],
      registers,
    }),
    tensors: new Gauge({
      name: 'clawloop_trainer_tensors',
      help: 'tensors allocated on the backend after the last step',
      registers,
    }),
  };
};

/** Registers counters of what a training server was sent. Without one, `usage` returns undefined and they have no values. */
export function watchServerTokens(registry: Registry, usage: () => ServerUsage | undefined): void {
  new Gauge({
    name: 'clawloop_trainer_server_tokens',
    help: 'tokens that this process has sent to the training server, by kind: forward, trained, sampled',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const used = usage();
      if (used === undefined) return;
      const { forwardTokens, trainedTokens, sampledTokens } = used;
      this.set({ kind: 'forward' }, forwardTokens);
      this.set({ kind: 'trained' }, trainedTokens);
      this.set({ kind: 'sampled' }, sampledTokens);
    },
  });
}

/** Registers gauges that are computed on every scrape. */
export function watchBatches(registry: Registry, open: () => number, waitSeconds: () => number): void {
  watchObligations(registry, { batches: open });
  new Gauge({
    name: 'clawloop_batch_wait_seconds',
    help: "how long the open batch has waited for its outcome, by its event's time; 0: none is open",
    registers: [registry],
    collect() {
      this.set(waitSeconds());
    },
  });
}
