import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdapterFile, readAdapter } from '../../shared/policy/checkpoints/adapter-files.ts';
import { openCheckpoint } from '../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../shared/policy/executors/backend.ts';
import { loadPolicy, type Policy } from '../../shared/policy/model/policy.ts';
import type { PolicySequence } from '../../shared/policy/train/batching.ts';
import { scoreResponses } from '../../shared/policy/train/scoring.ts';
import { lossAndGradients } from '../../shared/policy/train/training.ts';

export type Gradients = ReadonlyMap<string, Float32Array>;

/** The same model in this process. */
export type LocalModel = {
  readonly policy: Policy;
  /** log p of each response token, nats, [N][T] */
  readonly score: (
    adapter: AdapterFile | undefined,
    sequences: readonly PolicySequence[],
  ) => readonly Float32Array[];
  /** Gradients of an adapter, given dLoss/dlogProb, [N][T]. */
  readonly gradients: (
    adapter: AdapterFile,
    sequences: readonly PolicySequence[],
    slopes: readonly ArrayLike<number>[],
  ) => Gradients;
  readonly close: () => void;
};

export async function openLocalModel(folder: string): Promise<LocalModel> {
  const policy = await loadPolicy(await openCheckpoint(folder), await openBackend('wasm'));
  return {
    policy,
    score: (file, sequences) => {
      const adapter = file && policy.loadAdapter(file);
      try {
        return scoreResponses(policy, adapter, sequences);
      } finally {
        adapter?.dispose();
      }
    },
    gradients: (file, sequences, slopes) => {
      const adapter = policy.loadAdapter(file);
      try {
        const loss = () => ({ loss: 0, metrics: {}, gradient: slopes.map((row) => Float64Array.from(row)) });
        return lossAndGradients(policy, adapter, sequences, { loss }).gradients;
      } finally {
        adapter.dispose();
      }
    },
    close: () => policy.dispose(),
  };
}

/** An adapter from the files that a server returned. */
export async function adapterOf(files: ReadonlyMap<string, Uint8Array>): Promise<AdapterFile> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-adapter-'));
  try {
    for (const [name, bytes] of files) await writeFile(join(folder, name), bytes);
    return await readAdapter(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * Gradients and their L2 norm where tensors of equal value are a single parameter. SkyRL's Qwen3 has one lora_A for the
 * query, key and value projections, and another for gate and up; it writes a copy under each name.
 */
export function tiedGradients(
  { tensors }: AdapterFile,
  gradients: Gradients,
): { readonly gradients: Gradients; readonly norm: number } {
  const tied = new Map<string, Float32Array>();
  let squares = 0;
  for (const names of Map.groupBy(tensors.keys(), groupOf).values()) {
    const first = tensors.get(names[0]!)!.values;
    const areTied = names.every((name) => tensors.get(name)!.values.every((value, i) => value === first[i]));
    const parameters = areTied ? [names] : names.map((name) => [name]);
    for (const parameter of parameters) {
      const sum = gradients.get(parameter[0]!)!.slice();
      for (const name of parameter.slice(1)) {
        const values = gradients.get(name)!;
        for (let i = 0; i < sum.length; i++) sum[i]! += values[i]!;
      }
      squares += sum.reduce((total, value) => total + value * value, 0);
      for (const name of parameter) tied.set(name, sum);
    }
  }
  return { gradients: tied, norm: Math.sqrt(squares) };
}

/** The same for the names that may stand for one parameter. */
const groupOf = (name: string): string =>
  name
    .replace(/(q_proj|k_proj|v_proj)(?=\.lora_A)/, 'query, key and value')
    .replace(/(gate_proj|up_proj)(?=\.lora_A)/, 'gate and up');
