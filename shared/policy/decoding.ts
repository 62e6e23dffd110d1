import { type CacheSize, cacheSize } from './cache-size.ts';
import { decodeRows } from './decode-rows.ts';
import { sizeOf, type Tensor } from './executors/tensor.ts';
import { weightShapes } from './layout.ts';
import { mergeLora } from './lora.ts';
import { createKeyValueCache } from './ops/kv-cache.ts';
import { type Adapter, networkOf, type Policy } from './policy.ts';
import type { PrefixNode } from './prefix-cache.ts';
import {
  beginShared,
  type CachedSequence,
  createPrefixRoots,
  createSharedPrefixes,
  loadKnown,
  type SharedPrefixes,
  share,
} from './shared-prefixes.ts';

export type DecoderLimits = {
  /** How many sequences may be generated at a time. */
  readonly maxSequences: number;
  /** Prompt and answer together, tokens. */
  readonly maxPositions: number;
  /** Tokens of a prompt that are read at once; 256 unless told. */
  readonly pieceTokens?: number;
  /** Shared by the decoders of one policy; no bound unless told. */
  readonly budget?: CacheBudget;
};

/** Positions that the caches of some decoders may have together, and how many they have. */
export type CacheBudget = { readonly positions: number; taken: number };

export type PromptRead = {
  /** Of the first token of the answer, [vocabulary]. */
  readonly logits: Float32Array;
  /** Tokens of the prompt whose keys and values another sequence had computed. */
  readonly cachedTokens: number;
};

export type Admitted = Pick<PromptRead, 'logits'> & { readonly slot: number };

/**
 * Generates several sequences side by side, token by token, with one adapter. Synchronous: it blocks its
 * thread.
 */
export type Decoder = {
  /**
   * Takes a place for a prompt; nothing is computed yet. Throws DecoderFull, and an Error for a prompt that
   * is
   * empty or leaves no room.
   *
   * @param owner what prompts of one owner begin with is shared among them alone; those without one share too
   * @returns its slot, which names the sequence until it is released
   */
  begin(promptIds: readonly number[], owner?: string): number;
  /**
   * Reads the next piece of a prompt. Others may step in between.
   * @returns undefined while more is to be read
   */
  read(slot: number): PromptRead | undefined;
  /** Begins, and reads the whole prompt. Throws as `begin`. */
  admit(promptIds: readonly number[]): Admitted;
  /**
   * Appends one token to each sequence that is named (any of those whose prompt is read, in any order, each
   * once).
   * @returns logits of the next token, [vocabulary] per entry
   * @throws Error when a sequence is at maxPositions
   * @throws DecoderFull when the cache has no room for all; releasing a sequence makes some
   */
  step(entries: readonly { readonly slot: number; readonly id: number }[]): Float32Array[];
  /** Whether the cache has room for a prompt of so many tokens and for what runs. */
  hasRoom(promptTokens: number): boolean;
  /** Whether every sequence can take a step. */
  canStep(): boolean;
  /** Forgets a sequence; its slot may be given out again. */
  release(slot: number): void;
  /** Sequences now held. */
  readonly active: number;
  /** Frees everything. The policy and the adapter stay. */
  dispose(): void;
};

/** Thrown when all slots are taken, or the cache's positions. */
export class DecoderFull extends Error {
  override readonly name = 'DecoderFull';
}

/**
 * Up to so many f32 weights, a decoder merges its adapter into a copy of them: 80 MB at most, and fewer,
 * larger products.
 */
const mergedWeights = 20_000_000;

/** The policy as the decoder computes it, and what the decoder has to free. */
function modelToDecode(policy: Policy, adapter: Adapter | undefined) {
  const { executor } = policy;
  const { model, lora } = networkOf(policy, adapter);
  const weightCount = [...weightShapes(model.config).values()].reduce((sum, shape) => sum + sizeOf(shape), 0);
  if (lora === undefined || weightCount > mergedWeights) return { model, lora, own: [] };
  const { layers, own } = mergeLora(executor, model.weights.layers, lora);
  return { model: { ...model, weights: { ...model.weights, layers } }, lora: undefined, own };
}

/** `ids`: prompt and answer as far as they are known. */
type Sequence = CachedSequence & { readonly promptTokens: number; readonly root: PrefixNode<Float32Array> };

const lengthOf = ({ promptTokens, filled }: Sequence): number => Math.max(promptTokens, filled + 1);
const noSize: CacheSize = { slots: 0, positions: 0 };

/**
 * The weights are those of the time when the decoder is made. Policy and adapter must outlive it.
 *
 * @param prefixes what sequences with a common beginning share; without it every prompt is read whole
 */
export function createDecoder(
  policy: Policy,
  adapter: Adapter | undefined,
  limits: DecoderLimits,
  prefixes: SharedPrefixes = createSharedPrefixes(policy.config, 0),
): Decoder {
  const { executor, config } = policy;
  const { vocabularySize } = config;
  const {
    maxPositions,
    pieceTokens = 256,
    budget = { positions: Number.POSITIVE_INFINITY, taken: 0 },
  } = limits;
  const { model, lora, own } = modelToDecode(policy, adapter);
  const cache = createKeyValueCache(executor, config);
  /** By slot; undefined: free. */
  const sequences: (Sequence | undefined)[] = Array(limits.maxSequences).fill(undefined);
  const roots = createPrefixRoots(prefixes, (root) => sequences.some((held) => held?.root === root));
  let size = noSize;

  const lengths = (): (number | undefined)[] => sequences.map((held) => held && lengthOf(held));
  const sizeFor = (wanted: readonly (number | undefined)[]): CacheSize | undefined =>
    cacheSize(size, wanted, budget.positions - budget.taken + size.slots * size.positions);
  const take = (next: CacheSize): void => {
    budget.taken += next.slots * next.positions - size.slots * size.positions;
    size = next;
  };
  const makeRoom = (): void => {
    const next = sizeFor(lengths());
    if (next === undefined)
      throw new DecoderFull(`the sequences need more than ${budget.positions} positions`);
    cache.resize(next.slots, next.positions);
    take(next);
  };
  const sequenceIn = (slot: number): Sequence => {
    const sequence = sequences[slot];
    if (sequence === undefined) throw new Error(`slot ${slot} holds no sequence`);
    return sequence;
  };
  const free = (slot: number): void => {
    sequences[slot] = undefined;
    if (sequences.some((held) => held !== undefined)) {
      const less = sizeFor(lengths());
      if (less === undefined) return;
      cache.resize(less.slots, less.positions);
      take(less);
    } else {
      cache.clear();
      take(noSize);
    }
  };
  const rotationAt = (positions: readonly number[]): Tensor =>
    model.ropeTable.rotations(executor, positions, { backward: false }).forward;

  /** One new row per slot; logits [rows, vocabulary]. */
  const stepLogits = (slots: readonly number[], ids: Int32Array): Tensor => {
    const positions = slots.map((slot) => sequences[slot]?.filled ?? 0);
    const cached = cache.begin({ slots, positions });
    return decodeRows(executor, model, lora, {
      ids,
      rotation: rotationAt(positions),
      cached,
      wanted: 'all',
    });
  };

  const begin = (promptIds: readonly number[], owner?: string): number => {
    const slot = sequences.indexOf(undefined);
    if (slot === -1) throw new DecoderFull(`all ${limits.maxSequences} sequences are taken`);
    const promptTokens = promptIds.length;
    if (promptTokens === 0 || promptTokens > maxPositions)
      throw new Error(`a prompt of ${promptTokens} tokens; 1 to ${maxPositions} fit`);
    const root = roots.of(owner);
    sequences[slot] = { promptTokens, root, ...beginShared(root, promptIds) };
    try {
      makeRoom();
    } catch (error) {
      free(slot);
      throw error;
    }
    return slot;
  };

  /** The next tokens of a prompt; logits of the last one when it is the prompt's last. */
  const readPiece = (slot: number, { ids, filled: start, promptTokens }: Sequence) => {
    const count = Math.min(pieceTokens, promptTokens - start);
    const positions = Array.from({ length: count }, (_, index) => start + index);
    const isLast = start + count === promptTokens;
    const logits = executor.scope(() => {
      const made = decodeRows(executor, model, lora, {
        ids: Int32Array.from(ids.slice(start, start + count)),
        rotation: rotationAt(positions),
        cached: cache.extend({ slot, start, count }),
        wanted: 'last', // one row: a graph of its own for pieces without logits would cost more
      });
      return isLast ? executor.read(made) : undefined;
    });
    return { count, logits };
  };

  const read = (slot: number): PromptRead | undefined => {
    const sequence = sequenceIn(slot);
    if (sequence.filled >= sequence.promptTokens)
      throw new Error(`the prompt in slot ${slot} is read already`);
    makeRoom();
    if (loadKnown(cache, prefixes, sequence.root, slot, sequence)) return undefined;
    const { count, logits } = readPiece(slot, sequence);
    sequence.filled += count;
    share(cache, prefixes, slot, sequence);
    return logits && { logits, cachedTokens: sequence.cachedTokens };
  };

  return {
    begin,
    read,
    admit(promptIds) {
      const slot = begin(promptIds);
      for (;;) {
        const done = read(slot);
        if (done !== undefined) return { slot, logits: done.logits };
      }
    },

    step(entries) {
      if (entries.length === 0) return [];
      const slots = entries.map(({ slot }) => slot);
      for (const { filled, promptTokens } of slots.map(sequenceIn)) {
        if (filled >= maxPositions) throw new Error(`a sequence is at its limit of ${maxPositions} tokens`);
        if (filled < promptTokens) throw new Error('a prompt is not read yet');
      }
      if (new Set(slots).size < slots.length) throw new Error('a sequence is named twice in one step');
      makeRoom();
      // Rows of slots that take no step write behind their last position, where their own next step or piece
      // overwrites it.
      const rows = cache.rowsOf(slots);
      const ids = new Int32Array(rows.length);
      const rowOf = new Map(rows.map((slot, row) => [slot, row]));
      for (const { slot, id } of entries) ids[rowOf.get(slot)!] = id;
      const logits = executor.scope(() => executor.read(stepLogits(rows, ids)));
      return entries.map(({ slot, id }) => {
        const sequence = sequenceIn(slot);
        sequence.ids.push(id);
        sequence.filled += 1;
        share(cache, prefixes, slot, sequence);
        const start = rowOf.get(slot)! * vocabularySize;
        return logits.subarray(start, start + vocabularySize);
      });
    },

    hasRoom(promptTokens) {
      const slot = sequences.indexOf(undefined);
      return slot !== -1 && sizeFor(lengths().with(slot, promptTokens + 1)) !== undefined;
    },
    canStep: () => sizeFor(lengths()) !== undefined,

    release(slot) {
      sequenceIn(slot);
      free(slot);
    },

    get active() {
      return sequences.filter((held) => held !== undefined).length;
    },

    dispose() {
      roots.drop();
      sequences.fill(undefined);
      executor.dispose(own);
      cache.clear();
      take(noSize);
    },
  };
}
