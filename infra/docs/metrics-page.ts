import { Registry } from 'prom-client';
import { createCollectorMetrics } from '../../services/collector/metrics.ts';
import { addVerdictMetrics } from '../../services/collector/verdict-metrics.ts';
import { createConsoleMetrics } from '../../services/console/metrics.ts';
import { createJudgeMetrics } from '../../services/judge/metrics.ts';
import { addGauges, createServingMetrics } from '../../services/serving/metrics.ts';
import { createTrainerMetrics, watchBatches, watchServerTokens } from '../../services/trainer/metrics.ts';
import { createRejectedCounter, watchObligations } from '../../shared/runtime/metrics.ts';
import { createFoldMetrics } from '../../shared/runtime/watch-folds.ts';

/** The fields of a prom-client metric that the page shows. */
type Described = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
};

/** Values are never read: the page needs only names. */
const none = () => 0;
const unread = undefined as never;

/** Registers each service's metrics with the service's own functions. */
export const registries: Readonly<Record<string, (registry: Registry) => void>> = {
  serving: (registry) => {
    createServingMetrics(registry);
    addGauges(registry, { engine: unread, outboxDepth: none, head: unread, openSessions: none });
  },
  collector: (registry) => {
    createFoldMetrics(registry);
    watchObligations(registry, { samples: none });
    createCollectorMetrics(registry);
    addVerdictMetrics(registry, {});
  },
  judge: (registry) => {
    createFoldMetrics(registry);
    createJudgeMetrics(registry, unread, { votes: none, turns: none } as never);
  },
  trainer: (registry) => {
    createFoldMetrics(registry);
    watchBatches(registry, none, none);
    watchServerTokens(registry, unread);
    createTrainerMetrics(registry);
  },
  console: (registry) => {
    createConsoleMetrics(registry, { turns: none, progress: none, listeners: none, stopped: none });
  },
};

export function metricsOf(service: string): readonly Described[] {
  const registry = new Registry();
  createRejectedCounter(registry);
  registries[service]!(registry);
  const metrics = registry.getMetricsAsArray() as unknown as readonly Omit<Described, 'type'>[];
  return metrics
    .map((metric) => ({ ...pick(metric), type: metric.constructor.name.toLowerCase() }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

const pick = ({ name, help, labelNames }: Omit<Described, 'type'>) => ({ name, help, labelNames });

/** docs/operate/metrics.md: the metrics of each service, from the code that registers them. */
export const metricsPage = (): string =>
  `${head}\n${Object.keys(registries)
    .map((service) => `## ${service}\n\n${table(metricsOf(service))}`)
    .join('\n')}`;

const table = (metrics: readonly Described[]) =>
  `| metric | type | labels | meaning |\n|---|---|---|---|\n${metrics.map(row).join('\n')}\n`;

const row = ({ name, type, labelNames, help }: Described) =>
  `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help.replaceAll('|', '\\|')} |`;

const head = `# Metrics

Generated from the services' code by \`npm run docs\`.

| path | answers |
|---|---|
| \`/metrics\` | the figures below, in Prometheus' format |
| \`/healthz\` | 200 while the process answers |
| \`/readyz\` | 200 while the service does its work; otherwise \`missing\` says why |

Serving and the console (8704) answer at their own port, the others at their health port (collector 8701, judge 8702, trainer 8703). Once an access key exists,
\`/metrics\` of serving needs one, and \`/metrics\` of the console one of an operator (Prometheus: \`authorization\` with \`credentials\`). A port on loopback answers under loopback names only.

Every figure has the label \`service\`. Node's own figures (\`process_\`, \`nodejs_\`) are included. Counters belong to the process and start at 0: for several
replicas, take the sum.

## What to watch

| question | query |
|---|---|
| Do turns arrive? | \`sum by (outcome, reason) (rate(clawloop_turns_total[5m]))\` |
| Are they judged, and how? | \`sum by (verdict) (rate(clawloop_verdicts_total[1h]))\` |
| Is a fold behind? | \`max by (fold) (clawloop_fold_lag_records)\`; every replica reports the whole group |
| Is work overdue? | \`sum by (kind) (clawloop_open_obligations)\`, \`clawloop_batch_wait_seconds > 600\` |
| How long does a step take? | \`clawloop_trainer_step_seconds\` |
| Is the head served? (0: yes) | \`clawloop_serving_head_version - clawloop_serving_served_version\` |
| Is the log reachable? | \`clawloop_log_wait_seconds\`, \`clawloop_serving_outbox_depth\` |
`;
