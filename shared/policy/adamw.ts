export type AdamWSettings = {
  readonly learningRate: number;
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  /** Decoupled: weights shrink by learningRate * weightDecay per step. */
  readonly weightDecay?: number;
  /** All gradients together are scaled down to this L2 norm. Default: no clipping. */
  readonly maxGradientNorm?: number;
  /** Which parameters decay. Default: all. */
  readonly decays?: (name: string) => boolean;
};

/**
 * Moments of every parameter, by name, and the count of steps taken. Plain data: may be stored and read back.
 */
export type AdamWState = {
  step: number;
  readonly first: Map<string, Float32Array>;
  readonly second: Map<string, Float32Array>;
};

export const emptyAdamWState = (): AdamWState => ({ step: 0, first: new Map(), second: new Map() });

export type AdamW = {
  /**
   * One step, in place on parameters and state. A parameter without a gradient is left alone.
   *
   * @param learningRate for this step, when a schedule sets it
   * @returns the L2 norm of all gradients together before clipping
   * @throws Error when the norm is not finite: then nothing has changed
   */
  step(
    parameters: ReadonlyMap<string, Float32Array>,
    gradients: ReadonlyMap<string, Float32Array>,
    state: AdamWState,
    learningRate?: number,
  ): { readonly gradientNorm: number };
};

/** L2 norm of all gradients together, summed in f64. */
export function gradientNorm(gradients: ReadonlyMap<string, Float32Array>): number {
  let squares = 0;
  for (const gradient of gradients.values()) {
    for (let i = 0; i < gradient.length; i++) squares += gradient[i]! * gradient[i]!;
  }
  return Math.sqrt(squares);
}

/**
 * AdamW (Loshchilov and Hutter 2019) as PyTorch computes it, after clipping as torch.nn.utils.clip_grad_norm_
 * does it: scale = min(1, maxNorm / (norm + 1e-6)).
 */
export function createAdamW(settings: AdamWSettings): AdamW {
  const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0 } = settings;
  const { maxGradientNorm = Infinity, decays = () => true } = settings;
  return {
    step(parameters, gradients, state, learningRate = settings.learningRate) {
      const norm = gradientNorm(gradients);
      if (!Number.isFinite(norm)) throw new Error(`the gradient norm is ${norm}`);
      const scale = Math.min(1, maxGradientNorm / (norm + 1e-6));
      state.step += 1;
      const stepSize = learningRate / (1 - beta1 ** state.step);
      const correction = Math.sqrt(1 - beta2 ** state.step);
      const factors = { beta1, beta2, epsilon, scale, stepSize, correction };
      for (const [name, gradient] of gradients) {
        const values = parameters.get(name);
        if (values === undefined) throw new Error(`a gradient for ${name}, which is not a parameter`);
        const first = momentsOf(state.first, name, values.length);
        const second = momentsOf(state.second, name, values.length);
        const keep = decays(name) ? 1 - learningRate * weightDecay : 1;
        update(values, gradient, first, second, { ...factors, keep });
      }
      return { gradientNorm: norm };
    },
  };
}

/** A function of its own, with its numbers at hand: as part of a closure the loop takes twice the time. */
function update(
  values: Float32Array,
  gradient: Float32Array,
  first: Float32Array,
  second: Float32Array,
  {
    beta1,
    beta2,
    epsilon,
    scale,
    stepSize,
    correction,
    keep,
  }: Readonly<Record<'beta1' | 'beta2' | 'epsilon' | 'scale' | 'stepSize' | 'correction' | 'keep', number>>,
): void {
  const [rest1, rest2] = [1 - beta1, 1 - beta2];
  for (let i = 0; i < values.length; i++) {
    const g = gradient[i]! * scale;
    const m = beta1 * first[i]! + rest1 * g;
    const v = beta2 * second[i]! + rest2 * g * g;
    first[i] = m;
    second[i] = v;
    values[i] = values[i]! * keep - (stepSize * m) / (Math.sqrt(v) / correction + epsilon);
  }
}

function momentsOf(moments: Map<string, Float32Array>, name: string, length: number): Float32Array {
  let known = moments.get(name);
  if (known === undefined) {
    known = new Float32Array(length);
    moments.set(name, known);
  }
  return known;
}
