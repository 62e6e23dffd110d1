import { sizeOf, type Tensor } from '../executors/tensor.ts';
import { weightShapes } from '../model/layout.ts';
import { mergeLora } from '../model/lora.ts';
import type { Model, Network } from '../model/model.ts';
import { type Adapter, networkOf, type Policy } from '../model/policy.ts';
import { createKeyValueCache } from '../ops/create-kv-cache.ts';
import { type CacheBudget, CacheRoom, DecoderFull } from './cache-room.ts';
import { decodeRows } from './decode-rows.ts';
import {
  beginShared,
  type CachedSequence,
  createPrefixRoots,
  createSharedPrefixes,
  loadKnown,
  type SharedCache,
  type SharedPrefixes,
  share,
} from './shared-prefixes.ts';

type DecoderLimits = {
  /** How many sequences may be generated at a time. */
  readonly maxSequences: number;
  /** Prompt and answer together, tokens. */
  readonly maxPositions: number;
  /** Tokens of a prompt that are computed at a time. Default 256. */
  readonly pieceTokens?: number;
  /** Shared by the decoders of one policy. Default: no limit. */
  readonly budget?: CacheBudget;
};

type PromptRead = {
  /** Of the first token of the answer, [vocabulary]. */
  readonly logits: Float32Array;
  /** Tokens of the prompt whose keys and values another sequence had computed. */
  readonly cachedTokens: number;
};

type Admitted = Pick<PromptRead, 'logits'> & { readonly slot: number };

/** The next token of one sequence. */
type StepEntry = { readonly slot: number; readonly id: number };

/**
 * Generates several sequences side by side, token by token, with one adapter. Synchronous: it blocks its
 * thread.
 */
export type Decoder = {
  /**
   * Reserves a slot for a prompt; computes nothing yet. Throws DecoderFull, and an Error for a prompt that is
   * empty or leaves no room.
   *
   * @param owner only prompts of the same owner share their common beginnings; prompts without an owner share
   *   among themselves
   * @returns its slot, which names the sequence until it is released
   */
  begin(promptIds: readonly number[], owner?: string): number;
  /**
   * Computes the next piece of a prompt. Other sequences may step in between.
   * @returns undefined until the whole prompt is read
   */
  read(slot: number): PromptRead | undefined;
  /** Begins, and reads the whole prompt. Throws as `begin`. */
  admit(promptIds: readonly number[]): Admitted;
  /**
   * Appends one token to each of some sequences whose prompt is read; in any order, each at most once.
   * @returns logits of the next token, [vocabulary] per entry
   * @throws Error when a sequence is at maxPositions
   * @throws DecoderFull when the cache has no room for all; releasing a sequence makes room
   */
  step(entries: readonly StepEntry[]): Float32Array[];
  /** Whether the cache has room for another prompt of this many tokens beside the running sequences. */
  hasRoom(promptTokens: number): boolean;
  /** Whether every sequence can take a step. */
  canStep(): boolean;
  /** Forgets a sequence; its slot becomes free. */
  release(slot: number): void;
  /** Number of sequences in slots. */
  readonly active: number;
  /** Frees everything. The policy and the adapter stay. */
  dispose(): void;
};

/**
 * Up to this many f32 weights, a decoder merges its adapter into a copy of them: fewer, larger products for at
 * most 80 MB.
 */
const mergedWeights = 20_000_000;

/** The network that the decoder computes with, and the tensors that it has to free. */
function networkToDecode(policy: Policy, adapter: Adapter | undefined) {
  const { executor } = policy;
  const { model, network } = networkOf(policy, adapter);
  const weightCount = [...weightShapes(model.config).values()].reduce((sum, shape) => sum + sizeOf(shape), 0);
  if (network.lora === undefined || weightCount > mergedWeights) return { model, network, merged: [] };
  const { layers, merged } = mergeLora(executor, model.weights.layers, network.lora);
  const weights = { ...model.weights, layers };
  return { model, network: { config: model.config, weights, lora: undefined }, merged };
}

type Sequence = CachedSequence & { readonly promptTokens: number };

const lengthOf = ({ promptTokens, filled }: Sequence): number => Math.max(promptTokens, filled + 1);

/**
 * Uses the weights that the policy has at the time of the call. Policy and adapter must outlive the decoder.
 *
 * @param prefixes shared by sequences with a common beginning; without it every prompt is computed whole
 */
export const createDecoder = (
  policy: Policy,
  adapter: Adapter | undefined,
  limits: DecoderLimits,
  prefixes: SharedPrefixes = createSharedPrefixes(policy.config, 0),
): Decoder => new CachedDecoder({ policy, adapter, limits, prefixes });

type DecoderOptions = {
  readonly policy: Policy;
  readonly adapter: Adapter | undefined;
  readonly limits: DecoderLimits;
  readonly prefixes: SharedPrefixes;
};

class CachedDecoder implements Decoder {
  readonly #policy: Policy;
  readonly #model: Model;
  readonly #network: Network;
  /** Weights that are the decoder's own. */
  readonly #merged: readonly Tensor[];
  readonly #limits: DecoderLimits;
  readonly #shared: SharedCache;
  readonly #room: CacheRoom;
  readonly #roots: ReturnType<typeof createPrefixRoots>;
  /** By slot; undefined: free. */
  readonly #sequences: (Sequence | undefined)[];

  constructor({ policy, adapter, limits, prefixes }: DecoderOptions) {
    const { model, network, merged } = networkToDecode(policy, adapter);
    const cache = createKeyValueCache(policy.executor, policy.config);
    this.#policy = policy;
    this.#model = model;
    this.#network = network;
    this.#merged = merged;
    this.#limits = limits;
    this.#shared = { cache, prefixes };
    this.#room = new CacheRoom(cache, limits.budget);
    this.#sequences = Array(limits.maxSequences).fill(undefined);
    this.#roots = createPrefixRoots(prefixes, (root) =>
      this.#sequences.some((sequence) => sequence?.root === root),
    );
  }

  begin(promptIds: readonly number[], owner?: string): number {
    const { maxSequences, maxPositions } = this.#limits;
    const slot = this.#sequences.indexOf(undefined);
    if (slot === -1) throw new DecoderFull(`all ${maxSequences} sequences are in use`);
    const promptTokens = promptIds.length;
    if (promptTokens === 0 || promptTokens > maxPositions)
      throw new Error(`a prompt of ${promptTokens} tokens; 1 to ${maxPositions} fit`);
    this.#sequences[slot] = { promptTokens, ...beginShared(this.#roots.of(owner), promptIds) };
    try {
      this.#room.make(this.#lengths());
    } catch (error) {
      this.#free(slot);
      throw error;
    }
    return slot;
  }

  read(slot: number): PromptRead | undefined {
    const sequence = this.#sequenceIn(slot);
    if (sequence.filled >= sequence.promptTokens)
      throw new Error(`the prompt in slot ${slot} is already read`);
    this.#room.make(this.#lengths());
    if (loadKnown(this.#shared, slot, sequence)) return undefined;
    const { count, logits } = this.#readPiece(slot, sequence);
    sequence.filled += count;
    share(this.#shared, slot, sequence);
    return logits && { logits, cachedTokens: sequence.cachedTokens };
  }

  admit(promptIds: readonly number[]): Admitted {
    const slot = this.begin(promptIds);
    for (;;) {
      const done = this.read(slot);
      if (done !== undefined) return { slot, logits: done.logits };
    }
  }

  step(entries: readonly StepEntry[]): Float32Array[] {
    if (entries.length === 0) return [];
    const slots = entries.map(({ slot }) => slot);
    this.#checkStep(slots);
    this.#room.make(this.#lengths());
    // Rows of slots that take no step write behind their last position, where their own next step or piece
    // overwrites them.
    const rows = this.#shared.cache.rowsOf(slots);
    const ids = new Int32Array(rows.length);
    const rowOf = new Map(rows.map((slot, row) => [slot, row]));
    for (const { slot, id } of entries) ids[rowOf.get(slot)!] = id;
    const { executor, config } = this.#policy;
    const logits = executor.scope(() => executor.read(this.#stepLogits(rows, ids)));
    return entries.map(({ slot, id }) => {
      const sequence = this.#sequenceIn(slot);
      sequence.ids.push(id);
      sequence.filled += 1;
      share(this.#shared, slot, sequence);
      const start = rowOf.get(slot)! * config.vocabularySize;
      return logits.subarray(start, start + config.vocabularySize);
    });
  }

  hasRoom(promptTokens: number): boolean {
    const slot = this.#sequences.indexOf(undefined);
    return slot !== -1 && this.#room.fits(this.#lengths().with(slot, promptTokens + 1));
  }

  canStep(): boolean {
    return this.#room.fits(this.#lengths());
  }

  release(slot: number): void {
    this.#sequenceIn(slot);
    this.#free(slot);
  }

  get active(): number {
    return this.#sequences.filter((sequence) => sequence !== undefined).length;
  }

  dispose(): void {
    this.#roots.drop();
    this.#sequences.fill(undefined);
    this.#policy.executor.dispose(this.#merged);
    this.#room.clear();
  }

  #lengths(): (number | undefined)[] {
    return this.#sequences.map((sequence) => sequence && lengthOf(sequence));
  }

  #sequenceIn(slot: number): Sequence {
    const sequence = this.#sequences[slot];
    if (sequence === undefined) throw new Error(`slot ${slot} has no sequence`);
    return sequence;
  }

  #free(slot: number): void {
    this.#sequences[slot] = undefined;
    if (this.active > 0) this.#room.shrink(this.#lengths());
    else this.#room.clear();
  }

  #rotationAt(positions: readonly number[]): Tensor {
    return this.#model.ropeTable.rotations(this.#policy.executor, positions, { backward: false }).forward;
  }

  #checkStep(slots: readonly number[]): void {
    const { maxPositions } = this.#limits;
    for (const slot of slots) {
      const { filled, promptTokens } = this.#sequenceIn(slot);
      if (filled >= maxPositions) throw new Error(`a sequence is at its limit of ${maxPositions} tokens`);
      if (filled < promptTokens) throw new Error('a prompt is not read yet');
    }
    if (new Set(slots).size < slots.length) throw new Error('a sequence is named twice in one step');
  }

  /** One new row per slot; logits [rows, vocabulary]. */
  #stepLogits(slots: readonly number[], ids: Int32Array): Tensor {
    const positions = slots.map((slot) => this.#sequences[slot]?.filled ?? 0);
    const cached = this.#shared.cache.begin({ slots, positions });
    const rotation = this.#rotationAt(positions);
    return decodeRows(this.#policy.executor, this.#network, { ids, rotation, cached, wanted: 'all' });
  }

  /** Computes the next tokens of a prompt; logits: of the prompt's last token when the piece reaches it. */
  #readPiece(slot: number, { ids, filled: start, promptTokens }: Sequence) {
    const { executor } = this.#policy;
    const count = Math.min(this.#limits.pieceTokens ?? 256, promptTokens - start);
    const positions = Array.from({ length: count }, (_, index) => start + index);
    const isLast = start + count === promptTokens;
    const logits = executor.scope(() => {
      const made = decodeRows(executor, this.#network, {
        ids: Int32Array.from(ids.slice(start, start + count)),
        rotation: this.#rotationAt(positions),
        cached: this.#shared.cache.extend({ slot, start, count }),
        wanted: 'last', // one row: a separate graph for pieces without logits would cost more
      });
      return isLast ? executor.read(made) : undefined;
    });
    return { count, logits };
  }
}
