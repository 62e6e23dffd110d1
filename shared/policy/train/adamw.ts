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
 * Moments of every parameter, by name, and the number of steps taken. Plain data that can be stored.
 */
type AdamWState = {
  step: number;
  readonly first: Map<string, Float32Array>;
  readonly second: Map<string, Float32Array>;
};

export const emptyAdamWState = (): AdamWState => ({ step: 0, first: new Map(), second: new Map() });

export type AdamW = {
  /**
   * One step, in place on parameters and state. A parameter without a gradient does not change.
   *
   * @param learningRate for this step; default: that of the settings
   * @returns the L2 norm of all gradients together before clipping
   * @throws Error if the norm is not finite; then nothing has changed
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
 * AdamW (Loshchilov and Hutter 2019) as in PyTorch, after clipping as in torch.nn.utils.clip_grad_norm_:
 * scale = min(1, maxNorm / (norm + 1e-6)).
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
        if (values === undefined)
          throw new Error(`there is a gradient for ${name}, which is not a parameter`);
        const first = momentsOf(state.first, name, values.length);
        const second = momentsOf(state.second, name, values.length);
        const keep = decays(name) ? 1 - learningRate * weightDecay : 1;
        update({ values, gradient, first, second }, { ...factors, keep });
      }
      return { gradientNorm: norm };
    },
  };
}

/** A separate function with local numbers: inside a closure the loop takes twice the time. */
function update(
  {
    values,
    gradient,
    first,
    second,
  }: Readonly<Record<'values' | 'gradient' | 'first' | 'second', Float32Array>>,
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
  const [newShare1, newShare2] = [1 - beta1, 1 - beta2];
  for (let i = 0; i < values.length; i++) {
    const g = gradient[i]! * scale;
    const m = beta1 * first[i]! + newShare1 * g;
    const v = beta2 * second[i]! + newShare2 * g * g;
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
