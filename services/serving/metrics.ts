import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { watchObligations } from '../../shared/service/metrics.ts';
import type { Engine, EngineCounters } from './engine/engine.ts';
import type { HeadView } from './head-view.ts';

export type ServingMetrics = ReturnType<typeof createServingMetrics>;

/** What serving counts. Names are those of Prometheus' conventions. */
export const createServingMetrics = (registry: Registry) => {
  const registers = [registry];
  return {
    requests: new Counter({
      name: 'clawloop_serving_requests_total',
      help: 'requests by route and status',
      labelNames: ['route', 'status'],
      registers,
    }),
    ignored: new Counter({
      name: 'clawloop_serving_ignored_total',
      help: 'requests of which something was left out, by what: field, tool (one that a server would run), image',
      labelNames: ['kind'],
      registers,
    }),
    tokens: new Counter({
      name: 'clawloop_serving_tokens_total',
      help: 'tokens read (prompt) and generated (completion)',
      labelNames: ['kind'],
      registers,
    }),
    firstToken: new Histogram({
      name: 'clawloop_serving_first_token_seconds',
      help: 'from the request to its first token',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    recorded: new Counter({
      name: 'clawloop_serving_facts_total',
      help: 'facts by where they went; lost: neither log nor outbox took it',
      labelNames: ['to'],
      registers,
    }),
    open: new Gauge({ name: 'clawloop_serving_open_requests', help: 'requests being answered', registers }),
    headVersion: new Gauge({
      name: 'clawloop_serving_head_version',
      help: 'the head of the lineage in the view, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    servedVersion: new Gauge({
      name: 'clawloop_serving_served_version',
      help: 'version that new answers begin on, by adapter; -1: none is loaded yet',
      labelNames: ['adapter'],
      registers,
    }),
    loadFailures: new Counter({
      name: 'clawloop_serving_policy_load_failures_total',
      help: 'heads that could not be loaded, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
  };
};

/** Gauges that are read when they are asked for. */
export function watch(
  registry: Registry,
  engine: Engine,
  outboxDepth: () => number,
  view: Pick<HeadView, 'behind'>,
  openSessions: () => number,
): void {
  const registers = [registry];
  new Gauge({
    name: 'clawloop_serving_sessions_open',
    help: 'sessions of the session protocol that are open, whoever opened them',
    registers,
    collect() {
      this.set(openSessions());
    },
  });
  watchObligations(registry, { facts: outboxDepth });
  new Gauge({
    name: 'clawloop_view_lag_records',
    help: 'records of `training` that the view of the head has not read yet, all partitions; left out while the log is away',
    registers,
    async collect() {
      const behind = await view.behind();
      if (behind === undefined) this.remove();
      else this.set(behind);
    },
  });
  let shared: { readonly at: number; readonly counters: Promise<EngineCounters> } | undefined;
  const counters = (): Promise<EngineCounters> => {
    if (shared === undefined || Date.now() - shared.at > 200)
      shared = { at: Date.now(), counters: engine.counters() };
    return shared.counters;
  };
  const gauge = (name: string, help: string, read: (now: EngineCounters) => number) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(read(await counters()));
      },
    });
  gauge('clawloop_engine_tensors', 'tensors alive on the backend', (now) => now.tensors);
  gauge('clawloop_engine_running', 'answers being generated', (now) => now.running);
  gauge('clawloop_engine_waiting', 'requests that wait for a place', (now) => now.waiting);
  gauge('clawloop_engine_versions', 'policy versions in memory', (now) => now.versions.length);
  gauge('clawloop_engine_steps', 'decode steps so far', (now) => now.steps);
  gauge('clawloop_engine_step_sequences', 'sequences moved by all decode steps', (now) => now.stepSequences);
  gauge('clawloop_engine_prompt_tokens', 'tokens of all prompts read so far', (now) => now.promptTokens);
  gauge(
    'clawloop_engine_cached_prompt_tokens',
    'of them, those whose keys and values were known from an earlier request',
    (now) => now.cachedTokens,
  );
  gauge(
    'clawloop_engine_preemptions',
    'answers that gave up their place for a while, for want of room in the cache',
    (now) => now.preemptions,
  );
  gauge(
    'clawloop_engine_cache_positions',
    'positions that the caches of all versions have room for now',
    (now) => now.cachePositions,
  );
  gauge(
    'clawloop_engine_prefix_blocks',
    'blocks of 64 tokens that are kept for prompts to come',
    (now) => now.prefixBlocks,
  );
  new Gauge({
    name: 'clawloop_upstream_up',
    help: 'whether the upstream engine answers; left out where the engine is a local one',
    registers,
    collect() {
      if (engine.name === 'local') this.remove();
      else this.set(engine.problem?.() === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'clawloop_serving_outbox_depth',
    help: 'facts that wait for the log',
    registers,
    collect() {
      this.set(outboxDepth());
    },
  });
}
