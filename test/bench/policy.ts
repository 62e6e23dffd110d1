import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { allocatorEnvironment } from '../../shared/policy/executors/native-environment.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model/model-folder.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { type Ask, nameOf, type Times, tokensPerStep } from './policy-case.ts';
import { LARGE, type Planned, plan, titleOf } from './policy-plan.ts';
import { cellsOf, type MeasuredCase, type PolicyMeasurement, policyTables } from './policy-report.ts';
import { writeTables } from './write-tables.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

type Way = { readonly name: string; readonly ask: (ask: Ask) => Promise<Times>; readonly close: () => void };

function openWay(name: string, command: string, args: readonly string[], threads: number): Way {
  const child: ChildProcessWithoutNullStreams = spawn(command, args, {
    env: {
      ...allocatorEnvironment,
      ...process.env,
      OMP_NUM_THREADS: String(threads),
      OMP_WAIT_POLICY: 'PASSIVE',
    },
  });
  let output = '';
  child.stderr.on('data', (text: Buffer) => {
    output = (output + text.toString()).slice(-2000);
  });
  const waiting: PromiseWithResolvers<Times>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) waiting.shift()?.resolve(JSON.parse(line) as Times);
  });
  child.on('close', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`${name} ended with ${code}: ${output}`));
  });
  child.stdin.on('error', () => {}); // `close` reports the reason
  return {
    name,
    ask: (ask) => {
      const answer = Promise.withResolvers<Times>();
      waiting.push(answer);
      child.stdin.write(`${JSON.stringify(ask)}\n`);
      return answer.promise;
    },
    close: () => void child.stdin.end(),
  };
}

/** Versions of the peer's libraries; undefined: `python3` does not have them. */
function peerVersions(): string | undefined {
  const print = 'print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}")';
  const { status, stdout } = spawnSync('python3', ['-c', `import torch, transformers\n${print}`]);
  return status === 0 ? stdout.toString().trim() : undefined;
}

function openWays({ model, case: measured, threads }: Planned, peer: boolean): readonly Way[] {
  const ours = (mode: string): Way =>
    openWay(mode, process.execPath, [here('policy-process.ts'), mode, String(threads)], threads);
  const library = measured.kind === 'train' ? 'PyTorch' : 'transformers';
  return [
    ...(nativeInstalled() ? [ours('graph'), ours('eager')] : []),
    ...(model === CLAW_NANO ? [ours('wasm')] : []),
    ...(peer ? [openWay(library, 'python3', [here('peers/policy.py'), String(threads)], threads)] : []),
  ];
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function measure(
  planned: Planned,
  folder: string,
  rounds: number,
  peer: boolean,
): Promise<PolicyMeasurement[]> {
  const { model: name, case: measured, threads, steps, warmUpSteps, limitMs } = planned;
  const { config: model } = await openCheckpoint(folder);
  const ways = openWays(planned, peer);
  const times = new Map<Way, Times[]>(ways.map((way) => [way, []]));
  try {
    const ask = { folder, model, case: measured };
    for (const way of ways) await way.ask({ ...ask, steps: warmUpSteps });
    const end = performance.now() + limitMs;
    for (let round = 0; round < rounds && (round === 0 || performance.now() < end); round++)
      for (const way of ways) times.get(way)!.push(await way.ask({ ...ask, steps }));
  } finally {
    for (const way of ways) way.close();
  }
  const tokens = tokensPerStep(measured);
  return [...times].map(([way, parts]) => ({
    model: name,
    what: nameOf(measured),
    way: way.name,
    threads: way.name === 'wasm' ? 1 : threads,
    tokensPerSecond: (1000 * tokens) / median(parts.flatMap(({ milliseconds }) => milliseconds)),
    tokensPerProcessorSecond: (1000 * tokens) / median(parts.flatMap(({ processor }) => processor)),
    peakBytes: Math.max(...parts.map(({ peakBytes }) => peakBytes)),
    rounds: parts.length,
  }));
}

/** ms after which each remaining case gets one round, so that a run ends within 20 minutes. */
const lateMs = 14 * 60_000;

/**
 * Training, decoding and reading speed of claw-nano and of a model of 135 million random weights: as graphs, op by op,
 * on wasm, and beside PyTorch and transformers if `python3` has them. Each way is a separate process. A run of all
 * cases writes their tables into docs/understand/benchmarks.md; it takes at most 20 minutes.
 *
 * @param rounds at most; a case ends when its time is over
 * @param only cases with this in their titles
 */
export async function benchPolicy(rounds = 8, only = ''): Promise<readonly MeasuredCase[]> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-bench-policy-'));
  const peer = peerVersions();
  if (peer === undefined) console.log('python3 has no torch and transformers: no peer is measured');
  const [start, load] = [performance.now(), loadavg()[0]!];
  const all: MeasuredCase[] = [];
  try {
    await makeRandomModel(root, randomModels[LARGE]);
    for (const planned of plan) {
      if (planned.model === LARGE && !nativeInstalled()) continue;
      const folder = planned.model === LARGE ? root : modelFolder(CLAW_NANO);
      if (!titleOf(planned).includes(only)) continue;
      console.log(`${titleOf(planned)} (load ${loadavg()[0]!.toFixed(1)})`);
      const left = performance.now() - start < lateMs ? rounds : 1;
      const rows = await measure(planned, folder, left, peer !== undefined);
      console.table(cellsOf(rows));
      all.push({ planned, rows });
    }
  } finally {
    await rm(root, { recursive: true });
  }
  const processors = cpus();
  const text = policyTables(all, {
    machine: `${processors.length} x ${processors[0]?.model.trim()}, Node ${process.versions.node}`,
    peer,
    load: [load, loadavg()[0]!],
    minutes: (performance.now() - start) / 60_000,
  });
  if (only === '') await writeTables('policy', text);
  return all;
}

// node test/bench/policy.ts [ROUNDS] [TITLE]: only what has this in its title, as `smollm2-135m: decode`
if (import.meta.main) await benchPolicy(Number(process.argv[2] ?? 8), process.argv[3]);
