import type { Tensor } from './executors/executor.ts';
import { sizeOf } from './executors/tensor.ts';
import { layerForward } from './layer.ts';
import { weightShapes } from './layout.ts';
import { mergeLora } from './lora.ts';
import { logitsOf, residualStream, sequenceContext } from './model.ts';
import { gatherRows } from './ops/embedding.ts';
import { createKeyValueCache } from './ops/kv-cache.ts';
import type { Adapter, Policy } from './policy.ts';

export type DecoderLimits = {
  /** How many sequences may be generated at a time. */
  readonly maxSequences: number;
  /** Prompt and answer together, tokens. */
  readonly maxPositions: number;
};

export type Admitted = {
  /** Names the sequence until it is released. */
  readonly slot: number;
  /** Of the first token of the answer, [vocabulary]. */
  readonly logits: Float32Array;
};

/**
 * Generates several sequences side by side, token by token, with one adapter. Synchronous: it blocks its
 * thread.
 */
export type Decoder = {
  /** Reads a prompt. Throws DecoderFull, and an Error for a prompt that is empty or leaves no room. */
  admit(promptIds: readonly number[]): Admitted;
  /**
   * Appends one token to each sequence that is named (any of them, in any order, each once).
   * @returns logits of the next token, [vocabulary] per entry
   * @throws Error when a sequence is at maxPositions
   */
  step(entries: readonly { readonly slot: number; readonly id: number }[]): Float32Array[];
  /** Forgets a sequence; its slot may be given out again. */
  release(slot: number): void;
  /** Sequences now held. */
  readonly active: number;
  /** Frees everything. The policy and the adapter stay. */
  dispose(): void;
};

/** Thrown when all slots are taken. */
export class DecoderFull extends Error {
  override readonly name = 'DecoderFull';
}

/** Capacity grows in steps of this many positions, since every step attends over all of it. */
const positionStep = 256;

/**
 * Up to so many f32 weights, a decoder merges its adapter into a copy of them: 80 MB at most, and fewer,
 * larger products.
 */
const mergedWeights = 20_000_000;

/** The policy as the decoder computes it, and what the decoder has to free. */
function modelToDecode({ executor, model }: Policy, adapter: Adapter | undefined) {
  const weightCount = [...weightShapes(model.config).values()].reduce((sum, shape) => sum + sizeOf(shape), 0);
  if (adapter === undefined || weightCount > mergedWeights) return { model, lora: adapter?.layers, own: [] };
  const { layers, own } = mergeLora(executor, model.weights.layers, adapter.layers);
  return { model: { ...model, weights: { ...model.weights, layers } }, lora: undefined, own };
}

/** The weights are those of the time when the decoder is made. Policy and adapter must outlive it. */
export function createDecoder(policy: Policy, adapter: Adapter | undefined, limits: DecoderLimits): Decoder {
  const { executor, config } = policy;
  const { layers, heads, keyValueHeads, headSize, vocabularySize } = config;
  const { model, lora, own } = modelToDecode(policy, adapter);
  const cache = createKeyValueCache(executor, { layers, heads, keyValueHeads, headSize });
  /** Filled positions of each slot; undefined: free. */
  const filled: (number | undefined)[] = Array(limits.maxSequences).fill(undefined);
  let slotCapacity = 0;

  const reserve = (slots: number, positions: number): void => {
    while (slotCapacity < slots) slotCapacity = Math.max(1, slotCapacity * 2);
    slotCapacity = Math.min(slotCapacity, limits.maxSequences);
    cache.reserve(slotCapacity, Math.ceil(positions / positionStep) * positionStep);
  };
  const filledOf = (slot: number): number => {
    const count = filled[slot];
    if (count === undefined) throw new Error(`slot ${slot} holds no sequence`);
    return count;
  };

  /** Logits of one new row per slot: [rows, vocabulary]. */
  const forwardRows = (slots: readonly number[], ids: Int32Array): Tensor => {
    const positions = slots.map((slot) => filled[slot] ?? 0);
    const attend = cache.begin({ slots, positions });
    const rotation = model.ropeTable.rotations(executor, positions, { backward: false }).forward;
    let x = gatherRows(executor, model.weights.embedding, ids); // [rows, hidden]
    model.weights.layers.forEach((layer, index) => {
      x = executor.scope(
        () =>
          layerForward(executor, config, layer, lora?.[index], x, rotation, (queryKey, value) => ({
            output: attend(index, queryKey, value),
            saved: undefined,
          })).output,
      );
    });
    return logitsOf(executor, model, x);
  };

  return {
    admit(promptIds) {
      const slot = filled.indexOf(undefined);
      if (slot === -1) throw new DecoderFull(`all ${limits.maxSequences} sequences are taken`);
      const positions = promptIds.length;
      if (positions === 0 || positions > limits.maxPositions) {
        throw new Error(`a prompt of ${positions} tokens; 1 to ${limits.maxPositions} fit`);
      }
      reserve(slot + 1, positions);
      const logits = executor.scope(() => {
        const context = sequenceContext(executor, model, 1, positions, { backward: false });
        const ids = Int32Array.from(promptIds);
        const x = residualStream(executor, model, lora, ids, context, (layer, saved) =>
          cache.fill(slot, layer, saved, positions),
        );
        return executor.read(
          logitsOf(executor, model, gatherRows(executor, x, Int32Array.of(positions - 1))),
        );
      });
      filled[slot] = positions;
      return { slot, logits };
    },

    step(entries) {
      if (entries.length === 0) return [];
      const slots = entries.map(({ slot }) => slot);
      const longest = Math.max(...slots.map(filledOf)) + 1;
      if (longest > limits.maxPositions)
        throw new Error(`a sequence is at its limit of ${limits.maxPositions} tokens`);
      if (new Set(slots).size < slots.length) throw new Error('a sequence is named twice in one step');
      // Idle sequences too: see below.
      reserve(slotCapacity, Math.max(...filled.map((count) => count ?? 0)) + 1);
      // Rows of slots that take no step write behind their last position, where their own next step
      // overwrites it.
      const rows = cache.rowsOf(slots);
      const ids = new Int32Array(rows.length);
      const rowOf = new Map(rows.map((slot, row) => [slot, row]));
      for (const { slot, id } of entries) ids[rowOf.get(slot)!] = id;
      const logits = executor.scope(() => executor.read(forwardRows(rows, ids)));
      return slots.map((slot) => {
        filled[slot] = filledOf(slot) + 1;
        const start = rowOf.get(slot)! * vocabularySize;
        return logits.slice(start, start + vocabularySize);
      });
    },

    release(slot) {
      filledOf(slot);
      filled[slot] = undefined;
      if (filled.every((count) => count === undefined)) {
        cache.clear();
        slotCapacity = 0;
      }
    },

    get active() {
      return filled.filter((count) => count !== undefined).length;
    },

    dispose() {
      filled.fill(undefined);
      executor.dispose(own);
      cache.clear();
      slotCapacity = 0;
    },
  };
}
