import type { ModelConfig } from './model-config.ts';

/**
 * The layout of published weights in the model. Query and key projections are stacked into one matrix, gate and
 * up into another: fewer, larger products. Within each query and key head, rows are interleaved so that the
 * pairs (i, i + headSize / 2) that RoPE rotates are neighbours. Scores do not change, because queries and keys are
 * reordered in the same way.
 */
export type LinearName = 'queryKey' | 'value' | 'output' | 'gateUp' | 'down';

/** A published projection inside a stacked one. */
type Part = {
  /** As in `model.layers.0.<path>.weight`. */
  readonly path: string;
  readonly rows: number;
  /** Rows are interleaved for RoPE. */
  readonly rotated: boolean;
};

export type LinearLayout = {
  readonly inputs: number;
  readonly outputs: number;
  readonly parts: readonly Part[];
};

export function linearLayouts(config: ModelConfig): Readonly<Record<LinearName, LinearLayout>> {
  const { hiddenSize, heads, keyValueHeads, headSize, intermediateSize } = config;
  const [queries, keys] = [heads * headSize, keyValueHeads * headSize];
  const stack = (inputs: number, ...parts: Part[]): LinearLayout => ({
    inputs,
    outputs: parts.reduce((sum, part) => sum + part.rows, 0),
    parts,
  });
  const part = (path: string, rows: number, rotated = false): Part => ({ path, rows, rotated });
  return {
    queryKey: stack(
      hiddenSize,
      part('self_attn.q_proj', queries, true),
      part('self_attn.k_proj', keys, true),
    ),
    value: stack(hiddenSize, part('self_attn.v_proj', keys)),
    output: stack(queries, part('self_attn.o_proj', hiddenSize)),
    gateUp: stack(hiddenSize, part('mlp.gate_proj', intermediateSize), part('mlp.up_proj', intermediateSize)),
    down: stack(intermediateSize, part('mlp.down_proj', hiddenSize)),
  };
}

export const layerPrefix = (layer: number): string => `model.layers.${layer}.`;
export const embeddingName = 'model.embed_tokens.weight';
export const headName = 'lm_head.weight';
export const finalNormName = 'model.norm.weight';

/** Index of row `row` of a published, rotated projection among the interleaved rows. */
export function interleavedRow(row: number, headSize: number): number {
  const within = row % headSize;
  const half = headSize / 2;
  return row - within + (within < half ? 2 * within : 2 * (within - half) + 1);
}

/** A matrix of rows, row-major, and a row in it. */
type RowsAt = { readonly values: Float32Array; readonly row: number };

/** Copies rows of `width` values, interleaving them or, with `back`, undoing it. */
export function copyRows(
  source: RowsAt,
  target: RowsAt,
  { rows, rotated, width, headSize, back = false }: RowLayout,
): void {
  for (let row = 0; row < rows; row++) {
    const other = rotated ? interleavedRow(row, headSize) : row;
    const start = (source.row + (back ? other : row)) * width;
    const values = source.values.subarray(start, start + width);
    target.values.set(values, (target.row + (back ? row : other)) * width);
  }
}

type RowLayout = Pick<Part, 'rows' | 'rotated'> & {
  readonly width: number;
  readonly headSize: number;
  readonly back?: boolean;
};

/** Names and shapes of all weights of a model, in the published spelling. */
export function weightShapes(config: ModelConfig): ReadonlyMap<string, readonly number[]> {
  const { hiddenSize, vocabularySize, headSize } = config;
  const shapes = new Map<string, readonly number[]>([[embeddingName, [vocabularySize, hiddenSize]]]);
  for (let layer = 0; layer < config.layers; layer++) {
    const prefix = layerPrefix(layer);
    shapes.set(`${prefix}input_layernorm.weight`, [hiddenSize]);
    for (const [name, { inputs, parts }] of Object.entries(linearLayouts(config))) {
      for (const { path, rows } of parts) {
        shapes.set(`${prefix}${path}.weight`, [rows, inputs]);
        if (config.attentionBias && (name === 'queryKey' || name === 'value'))
          shapes.set(`${prefix}${path}.bias`, [rows]);
      }
    }
    if (config.queryKeyNorm) {
      shapes.set(`${prefix}self_attn.q_norm.weight`, [headSize]);
      shapes.set(`${prefix}self_attn.k_norm.weight`, [headSize]);
    }
    shapes.set(`${prefix}post_attention_layernorm.weight`, [hiddenSize]);
  }
  shapes.set(finalNormName, [hiddenSize]);
  if (!config.tiedHead) shapes.set(headName, [vocabularySize, hiddenSize]);
  return shapes;
}
