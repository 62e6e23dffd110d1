import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openCheckpoint } from '../../shared/policy/checkpoint.ts';
import { nativeInstalled } from '../../shared/policy/executors/native.ts';
import { CLAW_NANO, modelFolder } from '../../shared/policy/model-folder.ts';
import { makeRandomModel, randomModels } from '../fixtures/make-random-model.ts';
import { type Ask, nameOf, type PolicyCase, type Times, tokensPerStep } from './policy-case.ts';

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const LARGE = 'smollm2-135m';
const cores = availableParallelism();

/** Steps of each round; rounds of all ways by turns, so that a busy machine disturbs all alike. */
type Planned = {
  readonly model: typeof CLAW_NANO | typeof LARGE;
  readonly case: PolicyCase;
  readonly threads: number;
  readonly steps: number;
};

const plan: readonly Planned[] = [
  ...(['lora', 'full'] as const).map((trains): Planned => {
    return {
      model: CLAW_NANO,
      case: { kind: 'train', trains, batch: 8, positions: 128 },
      threads: cores,
      steps: 4,
    };
  }),
  ...[1, 4, 16].map((sequences): Planned => {
    return { model: CLAW_NANO, case: { kind: 'decode', sequences, context: 128 }, threads: 1, steps: 40 };
  }),
  { model: CLAW_NANO, case: { kind: 'prefill', tokens: 512 }, threads: cores, steps: 6 },
  {
    model: LARGE,
    case: { kind: 'train', trains: 'lora', batch: 1, positions: 512 },
    threads: cores,
    steps: 2,
  },
  ...[1, 4, 16].map((sequences): Planned => {
    return { model: LARGE, case: { kind: 'decode', sequences, context: 256 }, threads: cores, steps: 8 };
  }),
  { model: LARGE, case: { kind: 'prefill', tokens: 512 }, threads: cores, steps: 2 },
  {
    model: LARGE,
    case: { kind: 'train', trains: 'full', batch: 1, positions: 512 },
    threads: cores,
    steps: 1,
  },
];

export type PolicyMeasurement = {
  readonly model: string;
  readonly what: string;
  readonly way: string;
  readonly threads: number;
  readonly tokensPerSecond: number;
  /** Per second of all threads together: hardly moved by what else the machine does. */
  readonly tokensPerProcessorSecond: number;
  readonly peakBytes: number;
};

type Way = { readonly name: string; readonly ask: (ask: Ask) => Promise<Times>; readonly close: () => void };

function openWay(name: string, command: string, args: readonly string[], threads: number): Way {
  const child: ChildProcessWithoutNullStreams = spawn(command, args, {
    env: { ...process.env, OMP_NUM_THREADS: String(threads), OMP_WAIT_POLICY: 'PASSIVE' },
  });
  let told = '';
  child.stderr.on('data', (text: Buffer) => {
    told = (told + text.toString()).slice(-2000);
  });
  const waiting: PromiseWithResolvers<Times>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line.startsWith('{')) waiting.shift()?.resolve(JSON.parse(line) as Times);
  });
  child.on('close', (code) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`${name} ended with ${code}: ${told}`));
  });
  child.stdin.on('error', () => {}); // `close` says why
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

const hasPeer = (): boolean => spawnSync('python3', ['-c', 'import torch, transformers']).status === 0;

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
  const { model: name, case: measured, threads, steps } = planned;
  const { config: model } = await openCheckpoint(folder);
  const ways = openWays(planned, peer);
  const times = new Map<Way, Times[]>(ways.map((way) => [way, []]));
  try {
    const ask = { folder, model, case: measured };
    for (const way of ways) await way.ask({ ...ask, steps: 2 }); // warm-up
    for (let round = 0; round < rounds; round++)
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
  }));
}

const digits = (value: number): number => Number(value.toPrecision(3));

function print(rows: readonly PolicyMeasurement[]): void {
  const peer = rows.find(({ way }) => way === 'PyTorch' || way === 'transformers');
  console.table(
    rows.map((row) => ({
      way: row.way,
      threads: row.threads,
      'tok/s': digits(row.tokensPerSecond),
      'x peer': peer && digits(row.tokensPerSecond / peer.tokensPerSecond),
      'tok/processor s': digits(row.tokensPerProcessorSecond),
      'x peer ': peer && digits(row.tokensPerProcessorSecond / peer.tokensPerProcessorSecond),
      'peak MB': Math.round(row.peakBytes / 1e6),
    })),
  );
}

/**
 * Training, decoding and reading speed of claw-nano and of a model of 135 million random weights: as
 * graphs, op by
 * op, on wasm, and beside PyTorch and transformers where `python3` has them. Each way is a process of its
 * own.
 */
export async function benchPolicy(rounds = 3, only = ''): Promise<readonly PolicyMeasurement[]> {
  const root = await mkdtemp(join(tmpdir(), 'clawloop-bench-policy-'));
  const peer = hasPeer();
  if (!peer) console.log('python3 has no torch and transformers: no peer is measured');
  const all: PolicyMeasurement[] = [];
  try {
    await makeRandomModel(root, randomModels[LARGE]);
    for (const planned of plan) {
      if (planned.model === LARGE && !nativeInstalled()) continue;
      const folder = planned.model === LARGE ? root : modelFolder(CLAW_NANO);
      const title = `${planned.model}: ${nameOf(planned.case)}`;
      if (!title.includes(only)) continue;
      console.log(`${title} (load ${loadavg()[0]!.toFixed(1)})`);
      const rows = await measure(planned, folder, rounds, peer);
      print(rows);
      all.push(...rows);
    }
  } finally {
    await rm(root, { recursive: true });
  }
  return all;
}

// node test/bench/policy.ts [ROUNDS] [TITLE]: only what has this in its title, as `smollm2-135m: decode`
if (import.meta.main) await benchPolicy(Number(process.argv[2] ?? 3), process.argv[3]);
