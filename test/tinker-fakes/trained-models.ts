import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AdapterFile,
  adapterFileNames,
  writeAdapter,
} from '../../shared/policy/checkpoints/adapter-files.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { createLora } from '../../shared/policy/model/lora.ts';
import { loadPolicy, type Policy } from '../../shared/policy/model/policy.ts';
import { modelFolderOf } from '../../shared/policy/testing/reference-model.ts';
import { createAdamW, emptyAdamWState, gradientNorm } from '../../shared/policy/train/adamw.ts';
import { tokenDistributions } from '../../shared/policy/train/token-distributions.ts';
import { addInto, lossAndGradients } from '../../shared/policy/train/training.ts';

/** What a call brings, from either encoding. */
export type FakeDatum = {
  readonly tokens: readonly number[];
  readonly inputs: Readonly<
    Record<string, { readonly data: readonly number[]; readonly shape: readonly number[] }>
  >;
};

export type FakeAdam = {
  readonly learning_rate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly eps: number;
  readonly weight_decay: number;
  readonly grad_clip_norm?: number;
};

type Snapshot = { readonly adapter: AdapterFile; readonly optimizer: ReturnType<typeof emptyAdamWState> };
export type FakeModel = Snapshot & {
  readonly gradients: Map<string, Float32Array>;
  /** of all backward calls since the last optimizer step */
  sequences: number;
  firstBetas: readonly [number, number] | undefined;
};

/** A fault in a request, as the server's own text. */
export class BadRequest extends Error {}

export type Arithmetic = {
  /** `mean`: over a sequence's tokens, then over the sequences until the optimizer step, as SkyRL on JAX */
  readonly reduction: 'sum' | 'mean';
  /** which of Adam's numbers are taken from a request */
  readonly adam: 'request' | 'rate' | 'first betas';
  readonly clips: boolean;
  /** multiplies every gradient; default 1 */
  readonly scale?: number;
};

/** The engine behind the fake server: a real policy, with real gradients and a real optimizer. */
export async function openTrainedModels(arithmetic: Arithmetic, name = 'qwen3-tiny') {
  const policy = await loadPolicy(await openCheckpoint(modelFolderOf(name)), await openBackend('wasm'));
  return {
    policy,
    create: (rank: number, alpha: number, seed: number): FakeModel => ({
      adapter: createLora(policy.config, { rank, alpha, seed }),
      optimizer: emptyAdamWState(),
      gradients: new Map(),
      sequences: 0,
      firstBetas: undefined,
    }),
    pass: (model: FakeModel, loss: string, data: readonly FakeDatum[], backward: boolean) =>
      data.map((datum) => passOf(policy, arithmetic, { model, loss, datum, backward })),
    optimize: (model: FakeModel, adam: FakeAdam): number => optimize(model, adam, arithmetic),
    topTokens: (adapter: AdapterFile, tokens: readonly number[], count: number) => {
      const loaded = policy.loadAdapter(adapter);
      const [found] = tokenDistributions(
        policy,
        loaded,
        [{ promptIds: tokens.slice(0, 1), responseIds: tokens.slice(1) }],
        { count },
      );
      loaded.dispose();
      return { ids: found!.topIds, logProbs: found!.top };
    },
    dispose: () => policy.dispose(),
  };
}

export type TrainedModels = Awaited<ReturnType<typeof openTrainedModels>>;

/** Log-probs of all targets of a datum; with `backward` its gradient is added to the model's. */
function passOf(
  policy: Policy,
  { reduction }: Arithmetic,
  {
    model,
    loss,
    datum,
    backward,
  }: Readonly<Record<'model', FakeModel>> & {
    readonly loss: string;
    readonly datum: FakeDatum;
    readonly backward: boolean;
  },
): Float32Array {
  const { columns, others } = targetsOf(datum, policy.config.vocabularySize);
  const [first, ...rest] = datum.tokens;
  const sequence = { promptIds: [first!], responseIds: [...rest, columns.at(-1)!] };
  if (sequence.responseIds.some((id, at) => id !== columns[at]))
    throw new BadRequest('targets are not shifted');
  const width = 1 + (others?.count ?? 0);
  const logProbs = new Float32Array(columns.length * width);
  const adapter = policy.loadAdapter(model.adapter);
  const { gradients } = lossAndGradients(policy, adapter, [sequence], {
    candidates: others && { count: others.count, rest: false, ids: [others.ids] },
    loss: ([sampled], [made]) => {
      sampled!.forEach((logProb, t) => {
        logProbs[t * width] = logProb;
        for (let k = 1; k < width; k++) logProbs[t * width + k] = made!.logProbs[t * (width - 1) + k - 1]!;
      });
      const slopes = slopesOf(loss, datum, logProbs, reduction);
      const column = (k: number) => slopes.filter((_, at) => at % width === k);
      return {
        loss: 0,
        metrics: {},
        gradient: [column(0)],
        candidateGradient: [slopes.filter((_, at) => at % width !== 0)],
      };
    },
  });
  adapter.dispose();
  if (backward) {
    model.sequences += 1;
    addInto(model.gradients, gradients);
  }
  return logProbs;
}

/** The targets in the first column; the others of each position, replaced over the prompt, where all are 0. */
function targetsOf({ inputs, tokens }: FakeDatum, vocabularySize: number) {
  const targets = inputs.target_tokens;
  if (targets === undefined) throw new BadRequest('target_tokens is missing');
  const [positions, width = 1] = targets.shape;
  if (positions !== tokens.length || targets.data.length !== positions * width)
    throw new BadRequest('target_tokens has another length than the input');
  if (targets.data.some((id) => id < 0 || id >= vocabularySize)) throw new BadRequest('a target is no token');
  const columns = targets.data.filter((_, at) => at % width === 0);
  if (targets.shape.length === 1) return { columns, others: undefined };
  const count = width - 1;
  const ids = new Int32Array(positions * count);
  for (let t = 0; t < positions; t++) {
    const own = targets.data.slice(t * width + 1, (t + 1) * width);
    const apart = new Set(own).size === count ? own : own.map((_, k) => k);
    ids.set(apart, t * count);
  }
  return { columns, others: { count, ids } };
}

/** dLoss/dlogProb of every target. */
function slopesOf(
  loss: string,
  { inputs }: FakeDatum,
  logProbs: Float32Array,
  reduction: Arithmetic['reduction'],
): Float64Array {
  const rowOf = (name: string): ArrayLike<number> => {
    const { data } = inputs[name] ?? { data: undefined };
    if (data === undefined) throw new BadRequest(`${name} is missing`);
    if (data.length !== logProbs.length) throw new BadRequest(`${name} has another length than the targets`);
    return data;
  };
  const mask = inputs.weights === undefined ? new Float64Array(logProbs.length).fill(1) : rowOf('weights');
  const total = Array.from(mask).reduce((sum, weight) => sum + weight, 0);
  const scale = reduction === 'mean' ? 1 / Math.max(total, 1e-9) : 1;
  if (loss === 'cross_entropy') return Float64Array.from(mask, (weight) => -weight * scale);
  if (loss !== 'importance_sampling')
    throw new BadRequest(`Loss functions ['${loss}'] are not supported by the fake`);
  const [behavior, advantages] = [rowOf('logprobs'), rowOf('advantages')];
  return Float64Array.from(
    logProbs,
    (logProb, t) => -Math.exp(logProb - behavior[t]!) * advantages[t]! * mask[t]! * scale,
  );
}

/** AdamW in place; returns the norm before clipping. */
function optimize(
  model: FakeModel,
  adam: FakeAdam,
  { reduction, adam: taken, clips, scale = 1 }: Arithmetic,
): number {
  const { adapter, optimizer, gradients } = model;
  const count = reduction === 'mean' ? Math.max(1, model.sequences) : 1;
  const parameters = new Map([...adapter.tensors].map(([name, { values }]) => [name, values]));
  const averaged = new Map(
    [...parameters].map(([name, values]) => [
      name,
      gradients.get(name)?.map((value) => (scale * value) / count) ?? new Float32Array(values.length),
    ]),
  );
  gradients.clear();
  model.sequences = 0;
  model.firstBetas ??= [adam.beta1, adam.beta2];
  const [beta1, beta2] = taken === 'first betas' ? model.firstBetas : [adam.beta1, adam.beta2];
  const own =
    taken === 'rate'
      ? { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.01, maxGradientNorm: 1 }
      : { beta1, beta2, epsilon: adam.eps, weightDecay: adam.weight_decay };
  const clip = clips && (adam.grad_clip_norm ?? 0) > 0 ? { maxGradientNorm: adam.grad_clip_norm! } : {};
  const adamw = createAdamW({ learningRate: adam.learning_rate, ...own, ...clip });
  adamw.step(parameters, averaged, optimizer);
  return gradientNorm(averaged);
}

/** A copy that later steps do not change. */
export const snapshot = ({ adapter, optimizer }: Snapshot): Snapshot =>
  structuredClone({ adapter, optimizer });

/** The files of an adapter as SkyRL writes them: the target modules are not named. */
export async function adapterFiles(adapter: AdapterFile): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = await mkdtemp(join(tmpdir(), 'tinker-fake-'));
  try {
    await writeAdapter(folder, adapter);
    const files = await Promise.all(
      adapterFileNames.map(
        async (name) => [name, new Uint8Array(await readFile(join(folder, name)))] as const,
      ),
    );
    return new Map(
      files.map(([name, bytes]) => [
        name,
        name.endsWith('.json') ? withoutTargets(Buffer.from(bytes).toString('utf8')) : bytes,
      ]),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

const withoutTargets = (config: string): Uint8Array =>
  Buffer.from(JSON.stringify({ ...JSON.parse(config), target_modules: null, task_type: null }));
