// npm run bench:gpu -- [--tiny] [--only qwen3-0.6b,qwen3-1.7b-BF16] [--models FOLDER]: SkyRL on the GPU of this machine,
// with models of true dimensions and random weights.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type SkyrlPlatform, whyNoSkyrl } from '../../../infra/skyrl/install.ts';
import { startSkyrl } from '../../../infra/skyrl/start-skyrl.ts';
import { writeAdapter } from '../../../shared/policy/checkpoints/adapter-files.ts';
import type { ModelConfig } from '../../../shared/policy/model/model-config.ts';
import { openTrainingServer } from '../../../shared/tinker/open-training-server.ts';
import type { ServerSequence, TrainingServer } from '../../../shared/tinker/training-server.ts';
import { makeRandomModel, randomModels } from '../../fixtures/make-random-model.ts';
import { adapterOf } from '../../skyrl/local-model.ts';
import { type Reference, referenceOf } from './reference.ts';
import { STEPS_OF_A_RUN, type StepRun, takeStepRuns } from './step-length.ts';

type Planned = {
  readonly name: string;
  readonly config: ModelConfig;
  readonly dtype: 'BF16' | 'F32';
  /** sequences of a batch, and tokens of each prompt and response */
  readonly batch: number;
  readonly prompt: number;
  readonly response: number;
};

/** Steps of the trainer with one learning rate. */
export type StepLength = {
  readonly learningRate: number;
  /** mean KL to the base after the first and after the last step, nats */
  readonly firstKl: number;
  readonly lastKl: number;
  /** |dW| / |W| after the last step */
  readonly relativeSize: number;
};

export type GpuRow = {
  readonly model: string;
  readonly dtype: string;
  /** nats, the largest difference of a log-prob from transformers in f32, of the base and of a trained adapter */
  readonly baseDifference: number;
  readonly adapterDifference: number;
  /** of a pass: forward, backward and optimizer step of a batch, without a loss of the trainer */
  readonly tokensPerSecond: number;
  readonly passMs: number;
  /** of a whole step of the trainer */
  readonly stepMs: number;
  readonly lengths: readonly StepLength[];
};

const large = { batch: 16, prompt: 766, response: 256 }; // with a hint of two tokens, a power of two
const sizes = ['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b', 'qwen3-8b'] as const;
const onGpu: readonly Planned[] = [
  { name: 'qwen3-0.6b', config: randomModels['qwen3-0.6b'], dtype: 'F32', ...large },
  ...sizes.map((name) => ({ name, config: randomModels[name], dtype: 'BF16', ...large }) as const),
];
const size = { vocabularySize: 1100, hiddenSize: 64, layers: 2, heads: 2, keyValueHeads: 1, headSize: 32 };
const tiny = { ...randomModels['qwen3-0.6b'], ...size, intermediateSize: 128 };
const onCpu: readonly Planned[] = [
  { name: 'tiny', config: tiny, dtype: 'F32', batch: 2, prompt: 24, response: 8 },
];

const PASSES = 5;
/** Answers in a batch by default; those of the step lengths and of the comparison with transformers. */
const BATCH = 4;
const adam = { learningRate: 1e-3, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0 };
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;
const worst = (a: readonly ArrayLike<number>[], b: readonly ArrayLike<number>[]): number =>
  Math.max(...a.flatMap((row, n) => Array.from(row, (value, t) => Math.abs(value - b[n]![t]!))));

export type GpuPlan = {
  readonly platform: SkyrlPlatform;
  /** names of models, as in qwen3-0.6b or qwen3-0.6b-F32; default all */
  readonly only?: readonly string[];
  /** where the random models are kept, and found again; default: they are removed */
  readonly models?: string;
  readonly tell?: (line: string) => void;
  /** called with each row as soon as it is measured */
  readonly onRow?: (row: GpuRow) => void;
};

/** Measures every planned model in turn. */
export async function measureGpu({
  platform,
  only,
  models,
  tell = () => {},
  onRow,
}: GpuPlan): Promise<readonly GpuRow[]> {
  const rows: GpuRow[] = [];
  for (const planned of chosen(platform === 'cuda' ? onGpu : onCpu, only)) {
    const folder = await mkdtemp(join(tmpdir(), 'clawloop-gpu-'));
    try {
      const model = await randomModel(planned, models ?? folder, tell);
      rows.push(await measureModel(planned, { platform, model, folder, tell }));
      onRow?.(rows.at(-1)!);
    } finally {
      await rm(folder, { recursive: true });
    }
  }
  return rows;
}

/** @throws Error if a name is unknown */
function chosen(all: readonly Planned[], names: readonly string[] | undefined): readonly Planned[] {
  const namesOf = ({ name, dtype }: Planned) => [name, `${name}-${dtype}`];
  const known = all.flatMap(namesOf);
  const unknown = names?.filter((name) => !known.includes(name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`there is no ${unknown.join(', ')}; there are: ${[...new Set(known)].join(', ')}`);
  return all.filter(
    (planned) => names === undefined || namesOf(planned).some((name) => names.includes(name)),
  );
}

async function randomModel(
  { name, config, dtype }: Planned,
  folder: string,
  tell: (line: string) => void,
): Promise<string> {
  const model = join(folder, `${name}-${dtype}`);
  if (existsSync(model)) return model;
  tell(`${name} ${dtype}: random weights are written`);
  await mkdir(folder, { recursive: true });
  await makeRandomModel(`${model}.part`, config, { dtype });
  await rename(`${model}.part`, model);
  return model;
}

type Place = {
  readonly platform: SkyrlPlatform;
  readonly model: string;
  readonly folder: string;
  readonly tell: (line: string) => void;
};

async function measureModel(planned: Planned, { platform, model, folder, tell }: Place): Promise<GpuRow> {
  const { name, config, dtype, batch, prompt, response } = planned;
  tell(`${name} ${dtype}: SkyRL loads the model`);
  const backend = { gradient_checkpointing: platform === 'cuda' };
  const skyrl = await startSkyrl({ model, folder: join(folder, 'server'), platform, backend, adapters: 2 });
  const server = openTrainingServer({ url: skyrl.url, apiKey: 'tml-any', dialect: 'skyrl-jax', model });
  try {
    const sequences = randomSequences(batch, prompt, response, config.vocabularySize);
    const answers = sequences.slice(0, BATCH);
    const say = (line: string) => tell(`${name} ${dtype}: ${line}`);
    const speed = await measureSpeed(server, { sequences, answers, adapter: join(folder, 'adapter'), say });
    const task = { server, url: skyrl.url, name, config, answers, hint: [7, 11], folder, tell: say };
    const runs = await takeStepRuns(task);
    await skyrl.stop();
    say('transformers computes the same');
    const adapters = [join(folder, 'adapter'), ...runs.flatMap(({ first, last }) => [first, last])];
    const reference = await referenceOf(platform, model, adapters, answers);
    return {
      model: name,
      dtype,
      baseDifference: worst(speed.base, reference.base),
      adapterDifference: worst(speed.trained, reference.adapters[0]!.logProbs),
      tokensPerSecond: (1000 * batch * (prompt + response)) / speed.passMs,
      passMs: speed.passMs,
      stepMs: median(runs.flatMap(({ stepsMs }) => stepsMs)),
      lengths: runs.map((run, n) => lengthOf(run, reference.adapters.slice(1 + 2 * n))),
    };
  } finally {
    await server.close();
    await skyrl.stop();
  }
}

const lengthOf = (
  { learningRate }: StepRun,
  [first, last]: readonly Reference['adapters'][number][],
): StepLength => ({
  learningRate,
  firstKl: first!.klToBase,
  lastKl: last!.klToBase,
  relativeSize: last!.relativeSize,
});

type SpeedTask = {
  readonly sequences: readonly ServerSequence[];
  readonly answers: readonly ServerSequence[];
  /** folder for the trained adapter */
  readonly adapter: string;
  readonly say: (line: string) => void;
};

/** Passes of the server, and the log-probs of the answers before and after them. */
async function measureSpeed(server: TrainingServer, { sequences, answers, adapter, say }: SpeedTask) {
  const session = await server.openSession({ bench: 'gpu' }, new AbortController().signal);
  const model = await session.createModel({ rank: 16, seed: 3 });
  const tokens = sequences.reduce((sum, { responseIds }) => sum + responseIds.length, 0);
  const sampled = sequences.map(({ responseIds }) => new Float64Array(responseIds.length).fill(-1 / tokens));
  const base = await model.forward(answers);
  const times: number[] = [];
  for (let taken = 0; taken < PASSES + 2; taken++) {
    say(`pass ${taken + 1} of ${PASSES + 2}`);
    const start = performance.now();
    const current = await model.forward(sequences);
    await model.addGradient(sequences, { sampled }, { current, sequencesUntilStep: sequences.length });
    await model.optimizerStep({ ...adam, gradientClip: undefined });
    if (taken >= 2) times.push(performance.now() - start); // the first two compile
  }
  const trained = await model.forward(answers);
  await writeAdapter(adapter, await adapterOf(await model.downloadAdapter('measured')));
  await session.close();
  return { base, trained, passMs: median(times) };
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

if (import.meta.main) {
  const options = {
    tiny: { type: 'boolean' },
    only: { type: 'string' },
    models: { type: 'string' },
  } as const;
  const { tiny, only, models } = parseArgs({ options }).values;
  const platform = tiny === true ? 'cpu' : 'cuda';
  const missing = whyNoSkyrl(platform);
  if (missing !== null) {
    console.error(missing);
    process.exit(1);
  }
  const show = ({ lengths, ...row }: GpuRow) => {
    console.table([row]);
    console.table(lengths);
  };
  const chosen = {
    ...(only !== undefined && { only: only.split(',') }),
    ...(models !== undefined && { models }),
  };
  console.log(`Each run has ${STEPS_OF_A_RUN} steps with one batch; rates are those at alpha 16.`);
  await measureGpu({ platform, ...chosen, tell: (line) => console.error(line), onRow: show });
}
