import { Registry } from 'prom-client';
import { createCollectorMetrics } from '../../services/collector/metrics.ts';
import { createJudgeMetrics } from '../../services/judge/metrics.ts';
import { createServingMetrics, watch } from '../../services/serving/metrics.ts';
import { createTrainerMetrics, watchBatches } from '../../services/trainer/metrics.ts';
import { createRejectedCounter, watchObligations } from '../../shared/service/metrics.ts';
import { createFoldMetrics } from '../../shared/service/watch-folds.ts';

/** What a metric of prom-client knows of itself. */
type Described = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
};

/** Nothing is read of these: the page needs names alone. */
const none = () => 0;
const unread = undefined as never;

/** What each service registers, with its own functions: a metric that is not here is not there. */
export const registries: Readonly<Record<string, (registry: Registry) => void>> = {
  serving: (registry) => {
    createServingMetrics(registry);
    watch(registry, unread, none, unread, none);
  },
  collector: (registry) => {
    createFoldMetrics(registry);
    watchObligations(registry, { samples: none });
    createCollectorMetrics(registry);
  },
  judge: (registry) => {
    createFoldMetrics(registry);
    createJudgeMetrics(registry, unread, { votes: none, turns: none } as never);
  },
  trainer: (registry) => {
    createFoldMetrics(registry);
    watchBatches(registry, none, none);
    createTrainerMetrics(registry);
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

/** docs/metrics.md: what /metrics of each service says, out of the code that registers it. */
export const metricsPage = (): string =>
  `${head}\n${Object.keys(registries)
    .map((service) => `## ${service}\n\n${table(metricsOf(service))}`)
    .join('\n')}`;

const table = (metrics: readonly Described[]) =>
  `| metric | type | labels | meaning |\n|---|---|---|---|\n${metrics.map(row).join('\n')}\n`;

const row = ({ name, type, labelNames, help }: Described) =>
  `| \`${name}\` | ${type} | ${labelNames.map((label) => `\`${label}\``).join(', ')} | ${help.replaceAll('|', '\\|')} |`;

const head = `# Metrics

Made from the services' code by \`npm run docs\`. Every service has \`/metrics\` in Prometheus' format, \`/healthz\`
(the process answers) and \`/readyz\` (it does its work; if not, \`missing\` says why): serving at its endpoint,
the others at their health port. Once there is an access key, serving's \`/metrics\` needs
one (Prometheus: \`authorization\` with \`credentials\`). A port on loopback answers under loopback names alone. Every figure has the label \`service\`; Node's own
(\`process_\`, \`nodejs_\`) come besides. Counters are of the process and begin at 0 with it: of several replicas,
take the sum.

What to watch:

| question | query |
|---|---|
| Do turns come in? | \`sum by (outcome, reason) (rate(clawloop_turns_total[5m]))\` |
| Are they judged, and how? | \`sum by (verdict) (rate(clawloop_verdicts_total[1h]))\` |
| Is a fold behind? | \`max by (fold) (clawloop_fold_lag_records)\`; each replica says the same of the whole group |
| Is something left undone? | \`sum by (kind) (clawloop_open_obligations)\`, \`clawloop_batch_wait_seconds > 600\` |
| How long is a step? | \`clawloop_trainer_step_seconds\` |
| Is the last version served? | \`clawloop_serving_head_version - clawloop_serving_served_version\` |
| Is the log there? | \`clawloop_log_wait_seconds\`, \`clawloop_serving_outbox_depth\` |
`;
