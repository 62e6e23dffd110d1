import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry of its own per process, with Node's own figures in it. */
export function createMetrics(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  return registry;
}
