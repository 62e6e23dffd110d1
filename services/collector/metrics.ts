import { Counter, Gauge, type Registry } from 'prom-client';

export type CollectorMetrics = ReturnType<typeof createCollectorMetrics>;

/** What the collector counts. Outcomes per reason are in the log: `clawloop turns list --why`. */
export const createCollectorMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    lag: new Gauge({
      name: 'clawloop_collector_lag_events',
      help: 'events that a fold has not read yet, all partitions',
      labelNames: ['fold'],
      registers,
    }),
    swept: new Counter({
      name: 'clawloop_collector_timers_total',
      help: 'timers that ran out: idle sessions, samples that waited',
      labelNames: ['timer'],
      registers,
    }),
  };
};
