// npm run bench:gpu [-- --tiny]: SkyRL on the GPU of this machine, with models of true dimensions and random weights.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SkyrlPlatform, skyrlPython, whyNoSkyrl } from '../../../infra/skyrl/install.ts';
import { startSkyrl } from '../../../infra/skyrl/start-skyrl.ts';
import { writeAdapter } from '../../../shared/policy/checkpoints/adapter-files.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { ServerSequence } from '../../../shared/tinker/training-server.ts';
import { makeRandomModel, randomModels } from '../../fixtures/make-random-model.ts';
import { adapterOf } from '../../skyrl/local-model.ts';

type Planned = {
  readonly name: string;
  readonly config: ModelConfig;
  readonly dtype: 'BF16' | 'F32';
  /** sequences of a batch, and tokens of each prompt and response */
  readonly batch: number;
  readonly prompt: number;
  readonly response: number;
};

export type GpuRow = {
  readonly model: string;
  readonly dtype: string;
  /** nats, the largest difference of a log-prob from transformers in f32, of the base and of a trained adapter */
  readonly baseDifference: number;
  readonly adapterDifference: number;
  readonly tokensPerSecond: number;
  readonly stepMs: number;
};

const large = { batch: 16, prompt: 768, response: 256 };
const onGpu: readonly Planned[] = (['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b'] as const).flatMap((name) =>
  (['F32', 'BF16'] as const).map((dtype) => ({ name, config: randomModels[name], dtype, ...large })),
);
const size = { vocabularySize: 1100, hiddenSize: 64, layers: 2, heads: 2, keyValueHeads: 1, headSize: 32 };
const tiny = { ...randomModels['qwen3-0.6b'], ...size, intermediateSize: 128 };
const onCpu: readonly Planned[] = [
  { name: 'tiny', config: tiny, dtype: 'F32', batch: 2, prompt: 24, response: 8 },
];

const STEPS = 5;
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 };
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const worst = (a: readonly ArrayLike<number>[], b: readonly ArrayLike<number>[]): number =>
  Math.max(...a.flatMap((row, n) => Array.from(row, (value, t) => Math.abs(value - b[n]![t]!))));

/** Measures every planned model in turn. */
export async function measureGpu(
  platform: SkyrlPlatform,
  tell: (line: string) => void = () => {},
): Promise<readonly GpuRow[]> {
  const rows: GpuRow[] = [];
  for (const planned of platform === 'cuda' ? onGpu : onCpu) {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-gpu-'));
    try {
      rows.push(await measureModel(planned, platform, folder, tell));
    } finally {
      await rm(folder, { recursive: true });
    }
  }
  return rows;
}

async function measureModel(
  { name, config, dtype, batch, prompt, response }: Planned,
  platform: SkyrlPlatform,
  folder: string,
  tell: (line: string) => void,
): Promise<GpuRow> {
  const model = join(folder, 'model');
  tell(`${name} ${dtype}: random weights are written`);
  await makeRandomModel(model, config, { dtype });
  tell(`${name} ${dtype}: SkyRL loads the model`);
  const backend = { gradient_checkpointing: platform === 'cuda' };
  const skyrl = await startSkyrl({ model, folder: join(folder, 'server'), platform, backend, adapters: 2 });
  const server = openTrainingServer({ url: skyrl.url, apiKey: 'tml-any', dialect: 'skyrl-jax', model });
  try {
    const session = await server.openSession({ bench: 'gpu' }, new AbortController().signal);
    const trained = await session.createModel({ rank: 16, seed: 3 });
    const sequences = randomSequences(batch, prompt, response, config.vocabularySize);
    const sampled = sequences.map(() => new Float64Array(response).fill(-1 / (batch * response)));
    const base = await trained.forward(sequences);
    const times: number[] = [];
    for (let taken = 0; taken < STEPS + 2; taken++) {
      tell(`${name} ${dtype}: step ${taken + 1} of ${STEPS + 2}`);
      const start = performance.now();
      const current = await trained.forward(sequences);
      await trained.addGradient(sequences, { sampled }, { current, sequencesUntilStep: batch });
      await trained.optimizerStep({ ...adam, gradientClip: undefined });
      if (taken >= 2) times.push(performance.now() - start); // the first two compile
    }
    const after = await trained.forward(sequences);
    const adapter = join(folder, 'adapter');
    await writeAdapter(adapter, await adapterOf(await trained.downloadAdapter('measured')));
    await session.close();
    await skyrl.stop();
    tell(`${name} ${dtype}: transformers computes the same`);
    return {
      model: name,
      dtype,
      baseDifference: worst(base, await reference(platform, [model], sequences)),
      adapterDifference: worst(after, await reference(platform, [model, adapter], sequences)),
      tokensPerSecond: (1000 * batch * (prompt + response)) / median(times),
      stepMs: median(times),
    };
  } finally {
    await server.close();
    await skyrl.stop();
  }
}

function randomSequences(
  batch: number,
  prompt: number,
  response: number,
  vocabulary: number,
): ServerSequence[] {
  const ids = (length: number, salt: number) =>
    Array.from({ length }, (_, t) => 5 + ((salt * 131 + t * 7919) % Math.min(vocabulary - 10, 990)));
  return Array.from({ length: batch }, (_, n) => ({
    promptIds: ids(prompt, n),
    responseIds: ids(response, n + batch),
  }));
}

async function reference(
  platform: SkyrlPlatform,
  argv: readonly string[],
  sequences: readonly ServerSequence[],
): Promise<readonly (readonly number[])[]> {
  const script = join(import.meta.dirname, 'reference_scores.py');
  const child = spawn(skyrlPython(platform), [script, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
  let [text, said] = ['', ''];
  child.stdout.on('data', (part: Buffer) => (text += part));
  child.stderr.on('data', (part: Buffer) => (said = `${said}${part}`.slice(-2_000)));
  child.stdin.on('error', () => {}); // `close` reports the reason
  child.stdin.end(JSON.stringify(sequences));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`transformers ended with ${code}: ${said}`);
  return JSON.parse(text) as number[][];
}

if (import.meta.main) {
  const platform = process.argv.includes('--tiny') ? 'cpu' : 'cuda';
  const missing = whyNoSkyrl(platform);
  if (missing !== null) {
    console.error(missing);
    process.exit(1);
  }
  console.table(await measureGpu(platform, (line) => console.error(line)));
}
