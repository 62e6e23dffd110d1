import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { metricsOf, registries } from '../docs/metrics-page.ts';

const read = (name: string) => readFile(new URL(name, import.meta.url), 'utf8');

type Panel = {
  readonly id: number;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
};
const dashboard = JSON.parse(await read('./grafana-dashboard.json')) as { readonly panels: readonly Panel[] };
const rules = await read('./alert-rules.yml');

const known = new Map(
  Object.keys(registries)
    .flatMap(metricsOf)
    .map(({ name, type, labelNames }) => [name, { type, labelNames }]),
);
/** What Prometheus and each service add to a figure's own labels. */
const everywhere = ['service', 'instance', 'job', 'le'];

/** The metric of a series; a histogram has three. */
function metricOf(series: string) {
  const base = series.replace(/_(bucket|sum|count)$/, '');
  const found = known.get(series) ?? known.get(base);
  return found !== undefined && known.get(series) === undefined && found.type !== 'histogram'
    ? undefined
    : found;
}

const seriesIn = (text: string): readonly string[] => [...new Set(text.match(/\bclawloop_\w+/g) ?? [])];
const labelsIn = (text: string): readonly string[] =>
  [...text.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names]) => names!.split(',').map((name) => name.trim()));
const matchersIn = (text: string): readonly (readonly [series: string, label: string])[] =>
  [...text.matchAll(/\b(clawloop_\w+)\{([^}]*)\}/g)].flatMap(([, series, inside]) =>
    [...inside!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => [series!, label!] as const),
  );

const expressions = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...rules
    .split(/- alert: /)
    .slice(1)
    .map((rule) => [/^\w+/.exec(rule)![0], /expr:([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)![1]!] as const),
];

describe('the dashboard and the alert rules', () => {
  test.each(expressions)('%s asks only for figures that a service reports', (_, expression) => {
    const series = seriesIn(expression);
    expect(series.filter((name) => metricOf(name) === undefined)).toEqual([]);
    const labels = series.flatMap((name) => metricOf(name)!.labelNames);
    expect(labelsIn(expression).filter((label) => ![...labels, ...everywhere].includes(label))).toEqual([]);
    for (const [name, label] of matchersIn(expression))
      expect([...metricOf(name)!.labelNames, ...everywhere]).toContain(label);
  });

  test('each figure about canaries and rollbacks is on the dashboard', () => {
    const shown = new Set(expressions.flatMap(([, expression]) => seriesIn(expression)));
    const reported = [...known.keys()].filter((name) => /_(canary|rollback|automatic_rollbacks)_/.test(name));
    expect(reported.length).toBeGreaterThan(5);
    expect(reported.filter((name) => !shown.has(name))).toEqual([]);
  });

  test('there are a dozen rules and two dozen panels, each with its own id', () => {
    expect(expressions.length).toBeGreaterThan(36);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
