import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** A registry with Node's default metrics. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export const createRejectedCounter = (registry: Registry) =>
  new Counter({
    name: 'clawloop_records_rejected_total',
    help: 'log records that this service could not parse',
    labelNames: ['topic'],
    registers: [registry],
  });

/** Gauge of open obligations by kind, read at scrape time. */
export const watchObligations = (
  registry: Registry,
  open: Readonly<Record<string, () => number>>,
): Gauge<'kind'> =>
  new Gauge({
    name: 'clawloop_open_obligations',
    help: `open obligations: ${Object.keys(open).join(', ')}`,
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, count] of Object.entries(open)) this.set({ kind }, count());
    },
  });
