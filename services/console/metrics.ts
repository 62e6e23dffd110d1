import { Counter, Gauge, type Registry } from 'prom-client';
import { createLogWait } from '../../shared/runtime/watch-log.ts';

/** @param figures read when somebody asks */
export function createConsoleMetrics(
  registry: Registry,
  figures: {
    readonly turns: () => number;
    readonly progress: () => number;
    readonly listeners: () => number;
    readonly stopped: () => number;
  },
) {
  const gauge = (name: string, help: string, value: () => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('clawloop_console_turns', 'turns that the pages show', figures.turns);
  gauge(
    'clawloop_console_read_share',
    'share of the log that was read at the start, 0 to 1',
    figures.progress,
  );
  gauge('clawloop_console_listeners', 'open pages that follow the log', figures.listeners);
  gauge(
    'clawloop_console_stopped_partitions',
    'partitions that the console reads no further, because a newer version wrote there',
    figures.stopped,
  );
  return {
    logWait: createLogWait(registry),
    requests: new Counter({
      name: 'clawloop_console_requests_total',
      help: 'requests of pages and programs',
      labelNames: ['route', 'status'],
      registers: [registry],
    }),
  };
}
