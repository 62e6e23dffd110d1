import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { readJson, readModel } from '../checkpoints/read-model.ts';
import { UnsupportedModel } from '../model/model-config.ts';
import { createTokenDecoder, type DecodeOptions, type StreamDecoder } from './token-decoder.ts';

export type Tokenizer = {
  /**
   * Ids of a text. Added tokens written out in it (`<|im_end|>`) become their ids. `addSpecial` adds tokens such as
   * BOS.
   */
  encode(text: string, options?: { readonly addSpecial?: boolean }): number[];
  /** Ids outside the vocabulary decode to nothing. */
  decode(ids: readonly number[], options?: DecodeOptions): string;
  streamDecoder(options?: DecodeOptions): StreamDecoder;
  /** The bytes of one token in the middle of a text; none for a special or unknown id. */
  bytesOf(id: number): Uint8Array;
  /** The id of a token by its spelling in the vocabulary, e.g. `<|im_end|>`. */
  idOf(token: string): number | undefined;
  /** One more than the largest id, added tokens included. A model's embedding may have more rows. */
  readonly vocabularySize: number;
  readonly specialIds: ReadonlySet<number>;
  /** The spellings of the special tokens. */
  readonly specialTokens: readonly string[];
  /**
   * The spellings of the tokens that control a model: special tokens, and added ones such as `<think>` and
   * `<tool_call>`, which Qwen3 does not mark as special. Added words and characters are not control tokens.
   */
  readonly controlTokens: readonly string[];
};

const TokenizerFile = z.looseObject({
  added_tokens: z.array(z.looseObject({ id: z.int(), content: z.string(), special: z.boolean() })),
  model: z.looseObject({ type: z.string().optional(), vocab: z.record(z.string(), z.int()) }),
  decoder: z.unknown(),
});

const ModelFile = z.looseObject({ vocab_size: z.int().optional() });

/**
 * Loads `tokenizer.json` and, if present, `tokenizer_config.json` of a Hugging Face folder. Throws DamagedModel if
 * one is malformed; UnsupportedModel if the model in the folder has no embedding for some of the tokens. More rows
 * than tokens are common: embeddings are padded to a round number.
 */
export const loadTokenizer = (folder: string): Promise<Tokenizer> =>
  readModel(folder, () => readTokenizerFiles(folder));

async function readTokenizerFiles(folder: string): Promise<Tokenizer> {
  const path = join(folder, 'tokenizer.json');
  const configPath = join(folder, 'tokenizer_config.json');
  const config: unknown = existsSync(configPath) ? await readJson(configPath) : {};
  const tokenizer = createTokenizer(await readJson(path), config);
  const rows = await embeddingRows(folder);
  if (rows !== undefined && tokenizer.vocabularySize > rows) {
    throw new UnsupportedModel(
      `${folder} cannot be loaded: its tokenizer has ${tokenizer.vocabularySize} tokens, but its embedding ` +
        `has only ${rows} rows (vocab_size in config.json). Tokens were added without resizing the model`,
    );
  }
  return tokenizer;
}

/** Undefined if there is no model in the folder. */
async function embeddingRows(folder: string): Promise<number | undefined> {
  const path = join(folder, 'config.json');
  return existsSync(path) ? ModelFile.parse(await readJson(path)).vocab_size : undefined;
}

/**
 * A tokenizer from the parsed contents of `tokenizer.json` and `tokenizer_config.json`. Encoding uses
 * @huggingface/tokenizers; decoding is our own, because theirs throws for empty ids, loses a leading U+FEFF, and
 * cannot stream.
 */
export function createTokenizer(tokenizerJson: unknown, tokenizerConfig: unknown = {}): Tokenizer {
  const file = TokenizerFile.parse(tokenizerJson);
  const config = z.looseObject({}).parse(tokenizerConfig);
  const encoder = new HuggingFaceTokenizer(file, config);
  const tokens: (string | undefined)[] = [];
  const idByToken = new Map<string, number>();
  const add = (token: string, id: number) => {
    tokens[id] = token;
    idByToken.set(token, id);
  };
  for (const [token, id] of Object.entries(file.model.vocab)) add(token, id);
  for (const { content, id } of file.added_tokens) add(content, id);
  const specialIds = new Set(file.added_tokens.filter(({ special }) => special).map(({ id }) => id));
  const specialTokens = file.added_tokens.filter(({ special }) => special).map(({ content }) => content);
  const controlTokens = file.added_tokens
    .filter(({ content, special }) => special || !isWord(content))
    .map(({ content }) => content);
  const decoder = createTokenDecoder(file.decoder, {
    token: (id) => tokens[id],
    isSpecial: (id) => specialIds.has(id),
  });
  return {
    encode(text, options = {}) {
      const { ids } = encoder.encode(text, { add_special_tokens: options.addSpecial ?? false });
      if (ids.includes(undefined as unknown as number)) {
        throw new Error('the tokenizer has no token for some characters of the text, and no unknown token');
      }
      return ids;
    },
    decode: decoder.decode,
    streamDecoder: decoder.stream,
    bytesOf: decoder.bytesOf,
    idOf: (token) => idByToken.get(token),
    vocabularySize: tokens.length,
    specialIds,
    specialTokens,
    controlTokens,
  };
}

/** A single character, letters and digits, or white space. Some vocabularies have words added to them. */
const isWord = (token: string): boolean =>
  [...token].length === 1 || /^[\p{L}\p{M}\p{N}\s'’▁-]*$/u.test(token);
