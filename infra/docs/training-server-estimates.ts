import { linearLayouts, weightShapes } from '../../shared/policy/model/layout.ts';
import type { ModelConfig } from '../../shared/policy/model/model-config.ts';
import { randomModels } from '../../test/fixtures/make-random-model.ts';

/** Bytes of a value in bf16, the type in which models and adapters are held. */
const BF16 = 2;
/** Of all weights of a model. */
export const weightCount = (config: ModelConfig): number =>
  [...weightShapes(config).values()].reduce((sum, shape) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** Of an adapter of all seven projections: rank x (inputs + outputs) each. */
export function adapterCount(config: ModelConfig, rank: number): number {
  const perLayer = Object.values(linearLayouts(config)).flatMap(({ inputs, parts }) =>
    parts.map(({ rows }) => inputs + rows),
  );
  return rank * config.layers * perLayer.reduce((sum, size) => sum + size, 0);
}

/** SkyRL's JAX back end as it is started. */
export type ServerShape = {
  /** models that may be loaded at once, plus one for the base model */
  readonly slots: number;
  /** models that are loaded */
  readonly loaded: number;
  readonly rank: number;
  /** tokens of one micro-batch */
  readonly tokens: number;
};

/**
 * Bytes on all GPUs together. SkyRL holds weights and accumulated gradients of all slots in one tensor, and gives each
 * loaded model an optimizer with two moments over that whole tensor: loaded x 2 x slots x adapter. Activations
 * with gradient checkpointing: the input of each layer, one layer's own, and the logits of 1024 tokens in f32 with
 * their gradient.
 */
export function serverMemory(config: ModelConfig, { slots, loaded, rank, tokens }: ServerShape) {
  const adapter = BF16 * adapterCount(config, rank);
  const { hiddenSize, intermediateSize, heads, keyValueHeads, headSize, layers, vocabularySize } = config;
  const withinLayer = 6 * hiddenSize + 3 * intermediateSize + 3 * (heads + 2 * keyValueHeads) * headSize;
  return {
    weights: BF16 * weightCount(config),
    adapters: 2 * slots * adapter,
    optimizers: 2 * loaded * slots * adapter,
    activations: BF16 * tokens * (layers * hiddenSize + 2 * withinLayer) + 2 * 4 * 1024 * vocabularySize,
  };
}

/**
 * Floating-point operations per token of a step with one minibatch and one epoch: 2 per weight and forward pass
 * (forward, forward of the backward call, its recomputation, the gate's score), and 2 per weight for the gradient by
 * the activations. The gradient by the adapter itself is below 2 %.
 */
export const flopsPerToken = (config: ModelConfig): number => 5 * 2 * weightCount(config);

/** Of one adapter with both moments in bf16, bytes: what a swap reads and writes. */
export const stateBytes = (config: ModelConfig, rank: number): number =>
  3 * BF16 * adapterCount(config, rank);

/** Mean wait for one server of fixed service time (M/D/1, Pollaczek-Khinchine), in the unit of `service`. */
export function meanWait(arrivals: number, service: number): number {
  const load = arrivals * service;
  return load >= 1 ? Number.POSITIVE_INFINITY : (load * service) / (2 * (1 - load));
}

const planned = ['qwen3-0.6b', 'qwen3-1.7b', 'qwen3-4b', 'qwen3-8b'] as const;
const gigabytes = (bytes: number): string => String(Number((bytes / 1e9).toPrecision(2)));
const line = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');

const RANK = 16;
/** 8 sequences of 1024 tokens in one micro-batch */
const TOKENS = 8 * 1024;

/** Memory of SkyRL on JAX: 8 slots beside the base's, one and eight loaded models. */
function memoryTable(): string {
  return table(
    [
      'model',
      'weights',
      'adapter',
      'adapters and gradients, 9 slots',
      'optimizers, 2 loaded',
      '8 loaded',
      'activations',
      'sum, 2 loaded',
      '8 loaded',
    ],
    planned.map((name) => {
      const config = randomModels[name];
      const of = (loaded: number) => serverMemory(config, { slots: 9, loaded, rank: RANK, tokens: TOKENS });
      const [two, eight] = [of(2), of(8)];
      const total = ({ weights, adapters, optimizers, activations }: typeof two) =>
        weights + adapters + optimizers + activations;
      const adapter = BF16 * adapterCount(config, RANK);
      return [
        name,
        ...[two.weights, adapter, two.adapters, two.optimizers, eight.optimizers, two.activations].map(
          gigabytes,
        ),
        ...[total(two), total(eight)].map(gigabytes),
      ];
    }),
  );
}

/** Dense bf16 operations per second that NVIDIA states. */
const gpus = { A100: 312e12, H100: 989e12 } as const;
/** Part of them that a step reaches: assumed. */
const UTILISATION = 0.3;

function speedTable(): string {
  return table(
    [
      'model',
      'operations per token',
      ...Object.keys(gpus).map((name) => `${name}: tok/s`),
      's per step on an H100',
    ],
    planned.map((name) => {
      const flops = flopsPerToken(randomModels[name]);
      const speeds = Object.values(gpus).map((peak) => (UTILISATION * peak) / flops);
      const digits = (value: number) => Number(value.toPrecision(2)).toLocaleString('en-US');
      return [
        name,
        `${(flops / 1e9).toPrecision(2)} G`,
        ...speeds.map(digits),
        digits(STEP_TOKENS / speeds[1]!),
      ];
    }),
  );
}

/** 16 samples of 1024 tokens */
const STEP_TOKENS = 16 * 1024;

/** What a team does in a day, and what one step costs beside its tokens. */
const team = {
  people: 1_000,
  /** samples that train, per person and working day */
  samples: 40,
  /** of a batch */
  batch: 16,
  hours: 8,
  /** s of a step outside its tokens: model, state, save, download; measured on a CPU for claw-nano */
  overhead: 4,
  /** bytes per second of the disk with the states */
  disk: 1e9,
} as const;

/** Steps of 1,000 people on one server and on several: load, mean wait, and disk. */
function teamTable(): string {
  return table(
    [
      'model',
      'steps a day',
      's per step',
      'load of one server',
      'mean wait',
      'servers for a load of 0.7',
      'state of one adapter',
      'states of all',
    ],
    planned.map((name) => {
      const config = randomModels[name];
      const steps = (team.people * team.samples) / team.batch;
      const speed = (UTILISATION * gpus.H100) / flopsPerToken(config);
      const state = stateBytes(config, RANK);
      const service = STEP_TOKENS / speed + team.overhead + (2 * state) / team.disk;
      const arrivals = steps / (team.hours * 3600);
      const load = arrivals * service;
      const wait = meanWait(arrivals, service);
      return [
        name,
        steps.toLocaleString('en-US'),
        service.toPrecision(2),
        load.toFixed(2),
        Number.isFinite(wait) ? `${wait.toPrecision(2)} s` : 'grows without end',
        Math.ceil(load / 0.7),
        `${Math.round(state / 1e6)} MB`,
        `${gigabytes(team.people * state)} GB`,
      ];
    }),
  );
}

/** The generated tables of docs/operate/gpu.md. */
export const gpuTables = (): Readonly<Record<string, string>> => ({
  memory: memoryTable(),
  speed: speedTable(),
  team: teamTable(),
});
