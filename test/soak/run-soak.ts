import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clawloop, freePort, startClawLoop, until } from '../e2e/harness/clawloop.ts';
import { type Scrape, scrape } from '../e2e/wiring/scrape.ts';
import { type Memory, memoryOf } from './memory.ts';
import { createTalker } from './talk.ts';

const collectGarbage = new URL('collect-garbage.ts', import.meta.url).href;

export type SoakOptions = {
  readonly requests: number;
  readonly steps: number;
  /** people who talk at the same time */
  readonly people: number;
  readonly maxTokens: number;
  /** exchanges between two readings of memory */
  readonly perRound: number;
  /** Goes on until these readings are enough; default: any are. */
  readonly isEnough?: (readings: readonly Reading[]) => boolean;
  readonly flags?: readonly string[];
  readonly print: (line: string) => void;
};

/** What is alive after a round, when nothing is being answered and the head is served. */
export type Reading = {
  readonly requests: number;
  readonly steps: number;
  /** MiB by service */
  readonly held: Readonly<Record<string, number>>;
  /** policy versions that serving has in memory */
  readonly versions: number;
  /** on the backend, by service */
  readonly tensors: { readonly serving: number; readonly trainer: number };
  /** typed arrays and buffers that JavaScript still holds in the main threads, MiB */
  readonly external: { readonly serving: number; readonly trainer: number };
};

export type SoakReport = {
  readonly readings: readonly Reading[];
  readonly requests: number;
  readonly failures: readonly string[];
  /** batches that became a served version */
  readonly promoted: number;
  readonly servedVersion: number;
  /** versions in the order in which answers first came from them */
  readonly versions: readonly number[];
  /** largest resident memory seen, MiB by service */
  readonly peak: Readonly<Record<string, number>>;
  readonly audit: string;
  /** of each step, in order */
  readonly steps: readonly StepFacts[];
  readonly seconds: number;
};

export type StepFacts = {
  readonly method: string;
  readonly milliseconds: number;
  readonly metrics: Readonly<Record<string, number>>;
};

/** Talks to a ClawLoop of its own until so many requests and steps are done, and watches its memory. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-soak-'));
  const trainerPort = await freePort();
  const begun = performance.now();
  try {
    const flags = ['--trainer-health-port', String(trainerPort), ...(options.flags ?? [])];
    const loop = await startClawLoop(folder, flags, { NODE_OPTIONS: `--import=${collectGarbage}` });
    const readings: Reading[] = [];
    const failures: string[] = [];
    const versions: number[] = [];
    const peak: Record<string, number> = {};
    const look = async (): Promise<Readonly<Record<string, Memory>>> => {
      const seen = await memoryOf(await loop.pids());
      for (const [name, memory] of Object.entries(seen)) peak[name] = Math.max(peak[name] ?? 0, memory.peak);
      return seen;
    };
    const watching = setInterval(() => void look().catch(() => undefined), 1000);
    try {
      const talk = createTalker(loop.url, 'soak', options.maxTokens);
      const trainer = () => scrape(`http://127.0.0.1:${trainerPort}`);
      let exchange = 0;
      let requests = 0;
      let steps = 0;
      const isDone = () =>
        requests >= options.requests && steps >= options.steps && (options.isEnough?.(readings) ?? true);
      while (!isDone()) {
        const end = exchange + options.perRound;
        const person = async (): Promise<void> => {
          while (exchange < end) {
            const told = await talk(exchange++);
            requests += told.versions.length + told.failures.length;
            failures.push(...told.failures);
            for (const version of told.versions) if (!versions.includes(version)) versions.push(version);
          }
        };
        await Promise.all(Array.from({ length: options.people }, person));
        await until('no step runs and the head is served', () => atRest(loop.url, trainer), 15 * 60_000);
        const trained = await trainer();
        steps = trained.value('clawloop_trainer_batches_total', { outcome: 'promoted' }) ?? 0;
        const served = await scrape(loop.url);
        readings.push({
          requests,
          steps,
          held: mapValues(await look(), ({ held }) => held),
          versions: served.value('clawloop_engine_versions') ?? Number.NaN,
          tensors: {
            serving: served.value('clawloop_engine_tensors') ?? Number.NaN,
            trainer: trained.value('clawloop_trainer_tensors') ?? Number.NaN,
          },
          external: { serving: externalOf(served), trainer: externalOf(trained) },
        });
        options.print(line(readings.at(-1)!));
        if (failures.length > 0) break;
      }
      const served = await scrape(loop.url);
      const audit = await clawloop(['audit', '--data-folder', folder]);
      return {
        readings,
        requests,
        failures,
        promoted: steps,
        servedVersion: served.value('clawloop_serving_served_version') ?? Number.NaN,
        versions,
        peak,
        steps: await stepsOf(folder),
        audit: audit.code === 0 ? 'balances' : `${audit.stdout}${audit.stderr}`,
        seconds: (performance.now() - begun) / 1000,
      };
    } finally {
      clearInterval(watching);
      await loop.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Every judged turn that makes a full batch is trained, and its version is the one that answers. */
async function atRest(url: string, trainer: () => ReturnType<typeof scrape>): Promise<boolean> {
  const [served, trained] = await Promise.all([scrape(url), trainer()]);
  const head = trained.value('clawloop_trainer_head_version') ?? 0;
  return (
    (trained.value('clawloop_open_obligations', { kind: 'batches' }) ?? 0) === 0 &&
    (served.value('clawloop_serving_served_version') ?? -1) === head &&
    (served.value('clawloop_engine_running') ?? 0) === 0
  );
}

/** The steps that stand in the log. */
async function stepsOf(folder: string): Promise<readonly StepFacts[]> {
  const read = async <Data>(type: string): Promise<readonly Data[]> => {
    const tail = await clawloop([
      'topics',
      'tail',
      'training',
      '--type',
      type,
      '--json',
      '--data-folder',
      folder,
    ]);
    const lines = tail.stdout.split('\n').filter(Boolean);
    return lines.map((text) => (JSON.parse(text) as { event: { data: Data } }).event.data);
  };
  type Submitted = { readonly batchId: string; readonly settings: { readonly method: string } };
  type Trained = Omit<StepFacts, 'method'> & { readonly batchId: string };
  const [submitted, trained] = [
    await read<Submitted>('batch.submitted'),
    await read<Trained>('policy.trained'),
  ];
  return trained.map(({ batchId, milliseconds, metrics }) => {
    const batch = submitted.find((one) => one.batchId === batchId);
    return { method: batch?.settings.method ?? '', milliseconds, metrics };
  });
}

const externalOf = (metrics: Scrape): number =>
  (metrics.value('nodejs_external_memory_bytes') ?? Number.NaN) / 2 ** 20;

const mapValues = <From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Readonly<Record<string, To>> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));

const line = ({ requests, steps, held, versions, tensors, external }: Reading): string =>
  `${String(requests).padStart(5)} requests ${String(steps).padStart(4)} steps   tensors: serving ` +
  `${tensors.serving} (${versions} versions), trainer ${tensors.trainer}   buffers MiB: serving ` +
  `${external.serving.toFixed(1)}, trainer ${external.trainer.toFixed(1)}   held MiB: ${Object.entries(held)
    .map(([name, size]) => `${name} ${Math.round(size)}`)
    .join(', ')}`;
