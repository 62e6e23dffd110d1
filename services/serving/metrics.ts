import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { watchObligations } from '../../shared/runtime/metrics.ts';
import type { Engine, EngineCounters } from './generation.ts';

export type ServingMetrics = ReturnType<typeof createServingMetrics>;

/** The metrics of serving. Names follow the conventions of Prometheus. */
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
      help: 'requests with parts that were left out, by kind: field, tool (that a server would run, or has run), image (or document)',
      labelNames: ['kind'],
      registers,
    }),
    tokens: new Counter({
      name: 'clawloop_serving_tokens_total',
      help: 'tokens processed (prompt) and generated (completion)',
      labelNames: ['kind'],
      registers,
    }),
    firstToken: new Histogram({
      name: 'clawloop_serving_first_token_seconds',
      help: 'seconds from the request to its first token',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    }),
    recorded: new Counter({
      name: 'clawloop_serving_facts_total',
      help: 'events by destination; lost: neither log nor outbox could store the event',
      labelNames: ['to'],
      registers,
    }),
    open: new Gauge({ name: 'clawloop_serving_open_requests', help: 'open requests for answers', registers }),
    headVersion: new Gauge({
      name: 'clawloop_serving_head_version',
      help: 'head of the lineage, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
    servedVersion: new Gauge({
      name: 'clawloop_serving_served_version',
      help: 'version that answers new requests, by adapter; -1: none is loaded yet',
      labelNames: ['adapter'],
      registers,
    }),
    loadFailures: new Counter({
      name: 'clawloop_serving_policy_load_failures_total',
      help: 'failed attempts to load a head, by adapter',
      labelNames: ['adapter'],
      registers,
    }),
  };
};

/** What the gauges read. */
type GaugeSources = {
  readonly engine: Pick<Engine, 'name' | 'problem' | 'counters'>;
  readonly outboxDepth: () => number;
  readonly head: { readonly behind: () => Promise<number | undefined> };
  /** number of open sessions of the session protocol */
  readonly openSessions: () => number;
};

/** Adds gauges that are read on each scrape. */
export function addGauges(
  registry: Registry,
  { engine, outboxDepth, head, openSessions }: GaugeSources,
): void {
  const registers = [registry];
  new Gauge({
    name: 'clawloop_serving_sessions_open',
    help: 'open sessions of the session protocol, of all access keys',
    registers,
    collect() {
      this.set(openSessions());
    },
  });
  watchObligations(registry, { facts: outboxDepth });
  new Gauge({
    name: 'clawloop_view_lag_records',
    help: 'unread records of `training` in the view of the head, all partitions; absent while the log is unavailable',
    registers,
    async collect() {
      const behind = await head.behind();
      if (behind === undefined) this.remove();
      else this.set(behind);
    },
  });
  watchEngine(registers, engine);
  new Gauge({
    name: 'clawloop_upstream_up',
    help: '1 if the upstream engine responds, else 0; absent with a local engine',
    registers,
    collect() {
      if (engine.name === 'local') this.remove();
      else this.set(engine.problem?.() === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'clawloop_serving_outbox_depth',
    help: 'events in the outbox that wait for the log',
    registers,
    collect() {
      this.set(outboxDepth());
    },
  });
}

/** ms that one reading of the engine's counters serves all gauges of a scrape */
const SHARED_MS = 200;

function watchEngine(registers: Registry[], engine: Pick<Engine, 'counters'>): void {
  let cached: { readonly at: number; readonly counters: Promise<EngineCounters> } | undefined;
  const counters = (): Promise<EngineCounters> => {
    if (cached === undefined || Date.now() - cached.at > SHARED_MS)
      cached = { at: Date.now(), counters: engine.counters() };
    return cached.counters;
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
  gauge('clawloop_engine_tensors', 'tensors allocated on the backend', (now) => now.tensors);
  gauge('clawloop_engine_running', 'running answers', (now) => now.running);
  gauge('clawloop_engine_waiting', 'requests in the queue', (now) => now.waiting);
  gauge('clawloop_engine_versions', 'policy versions in memory', (now) => now.versions.length);
  gauge('clawloop_engine_steps', 'decode steps so far', (now) => now.steps);
  gauge(
    'clawloop_engine_step_sequences',
    'sequences advanced by all decode steps',
    (now) => now.stepSequences,
  );
  gauge('clawloop_engine_prompt_tokens', 'prompt tokens so far', (now) => now.promptTokens);
  gauge(
    'clawloop_engine_cached_prompt_tokens',
    'prompt tokens so far that were found in the prefix cache',
    (now) => now.cachedTokens,
  );
  gauge(
    'clawloop_engine_preemptions',
    'answers that were suspended because the cache was full',
    (now) => now.preemptions,
  );
  gauge(
    'clawloop_engine_cache_positions',
    'positions that fit in the caches of all versions',
    (now) => now.cachePositions,
  );
  gauge(
    'clawloop_engine_prefix_blocks',
    'blocks of 64 tokens in the prefix cache',
    (now) => now.prefixBlocks,
  );
}
