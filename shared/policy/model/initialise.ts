import { weightShapes } from './layout.ts';
import type { ModelConfig } from './model-config.ts';
import { createRandom, normal } from './random.ts';

/**
 * Random weights to start training from, by published name: normal with deviation 0.02; the projections into
 * the residual stream (o_proj, down_proj) are smaller by 1 / sqrt(2 * layers) (Radford et al. 2019); gains are
 * 1, biases 0. The same seed gives the same weights.
 */
export function initialWeights(config: ModelConfig, seed: number | string): Map<string, Float32Array> {
  const deviation = 0.02;
  const residualDeviation = deviation / Math.sqrt(2 * config.layers);
  const weights = new Map<string, Float32Array>();
  for (const [name, shape] of weightShapes(config)) {
    const length = shape.reduce((product, size) => product * size, 1);
    if (name.endsWith('norm.weight')) weights.set(name, new Float32Array(length).fill(1));
    else if (name.endsWith('.bias')) weights.set(name, new Float32Array(length));
    else {
      // A stream per weight: adding a layer does not change the others.
      const random = createRandom(`${seed}/${name}`);
      const scale = /(o_proj|down_proj)\.weight$/.test(name) ? residualDeviation : deviation;
      weights.set(
        name,
        Float32Array.from({ length }, () => normal(random) * scale),
      );
    }
  }
  return weights;
}
