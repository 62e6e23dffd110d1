import type { TokenBatch } from '../pretraining.ts';
import type { Random } from '../random.ts';
import type { Tokenizer } from '../tokenizer.ts';
import { shuffle } from './dialogues/choose.ts';
import { type Dialogue, dialogueMessages, generateDialogue } from './dialogues/dialogue.ts';

/** One dialogue as ids; `said[i]` is 1 where the assistant says `ids[i]`, else 0. */
export type Example = { readonly ids: readonly number[]; readonly said: readonly number[] };

/** Dialogues of about one length, padded at the end. `trained` and `seen` count tokens without padding. */
export type Batch = TokenBatch & {
  readonly mask: Float32Array;
  readonly trained: number;
  readonly seen: number;
};

/** What the assistant says, its `<|im_end|>` included, is trained. The ids are those of the chat template. */
export function encodeDialogue(tokenizer: Tokenizer, dialogue: Dialogue): Example {
  const ids: number[] = [];
  const said: number[] = [];
  const add = (text: string, trained: 0 | 1): void => {
    for (const id of tokenizer.encode(text)) {
      ids.push(id);
      said.push(trained);
    }
  };
  for (const { role, content } of dialogueMessages(dialogue)) {
    add(`<|im_start|>${role}\n`, 0);
    add(`${content}<|im_end|>`, role === 'assistant' ? 1 : 0);
    add('\n', 0);
  }
  return { ids, said };
}

export type BatchOptions = {
  /** Ids in a batch, padding included. */
  readonly tokensPerBatch: number;
  /** Dialogues that are sorted by length together, so that rows of a batch are about as long. */
  readonly poolSize: number;
  /** Widths are multiples of this, so that few shapes occur. */
  readonly widthStep: number;
  readonly paddingId: number;
};

/** Batches without end, in an order that follows from the source of numbers. One row is one dialogue. */
export function* trainingBatches(
  tokenizer: Tokenizer,
  random: Random,
  options: BatchOptions,
): Generator<Batch> {
  for (;;) {
    const pool = Array.from({ length: options.poolSize }, () =>
      encodeDialogue(tokenizer, generateDialogue(random)),
    );
    yield* shuffle(random, cut(pool, options));
  }
}

function cut(pool: readonly Example[], options: BatchOptions): readonly Batch[] {
  const sorted = pool.toSorted((a, b) => b.ids.length - a.ids.length);
  const batches: Batch[] = [];
  for (let start = 0; start < sorted.length; ) {
    const width = Math.ceil(sorted[start]!.ids.length / options.widthStep) * options.widthStep;
    const rows = Math.max(1, Math.floor(options.tokensPerBatch / width));
    batches.push(pad(sorted.slice(start, start + rows), width, options.paddingId));
    start += rows;
  }
  return batches;
}

function pad(examples: readonly Example[], width: number, paddingId: number): Batch {
  const positions = width - 1;
  const tokens = new Int32Array(examples.length * width).fill(paddingId);
  const mask = new Float32Array(examples.length * positions);
  examples.forEach(({ ids, said }, row) => {
    tokens.set(ids, row * width);
    mask.set(said.slice(1), row * positions);
  });
  return {
    tokens,
    batch: examples.length,
    positions,
    mask,
    trained: mask.reduce((sum, weight) => sum + weight, 0),
    seen: examples.reduce((sum, { ids }) => sum + ids.length, 0),
  };
}
