import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** A registry of its own per process, with Node's own figures in it. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export const createRejectedCounter = (registry: Registry) =>
  new Counter({
    name: 'clawloop_records_rejected_total',
    help: 'records of the log that this service met and could not parse',
    labelNames: ['topic'],
    registers: [registry],
  });

/**
 * What a service owes and has not done yet, by kind. Read when it is asked for; what cannot be told is left
 * out.
 */
export const watchObligations = (
  registry: Registry,
  open: Readonly<Record<string, () => number>>,
): Gauge<'kind'> =>
  new Gauge({
    name: 'clawloop_open_obligations',
    help: `what is owed and not done yet: ${Object.keys(open).join(', ')}`,
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      for (const [kind, count] of Object.entries(open)) this.set({ kind }, count());
    },
  });
