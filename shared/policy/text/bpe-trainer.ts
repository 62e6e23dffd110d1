import { byteLevelAlphabet } from './token-decoder.ts';

/**
 * Qwen2's split of a text into words: contractions, letters, single digits, symbols, line ends, other white
 * space.
 */
const wordPattern =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" +
  '| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+';

type BpeTrainerOptions = {
  /**
   * Number of ids: 256 bytes, merges, and the added tokens, which come last. Fewer if the texts have no more pairs.
   */
  readonly vocabularySize: number;
  /** Added tokens that decoding can leave out, e.g. `<|im_end|>`. Cut out of the texts before counting. */
  readonly specialTokens: readonly string[];
  /** Added tokens that are text, such as `<tool_call>` in Qwen3: `skipSpecial` keeps them. */
  readonly plainAddedTokens?: readonly string[];
  /** A pair that is less frequent is not merged. */
  readonly minimumCount?: number;
};

/** A distinct word of the texts: its current tokens, and its frequency. */
type Word = { ids: readonly number[]; readonly count: number };

/**
 * Trains a byte-level BPE tokenizer (Sennrich et al. 2016, over bytes as GPT-2) and returns the content of
 * its `tokenizer.json`. The most frequent pair is merged first; ties: the pair with the lower ids. So
 * the same texts and options give the same file on any machine. Throws if the vocabulary is too small for the bytes
 * and the added tokens.
 */
export function trainTokenizer(
  texts: Iterable<string>,
  options: BpeTrainerOptions,
): Readonly<Record<string, unknown>> {
  const added = [
    ...options.specialTokens.map((content) => ({ content, special: true })),
    ...(options.plainAddedTokens ?? []).map((content) => ({ content, special: false })),
  ];
  const size = options.vocabularySize - added.length;
  if (size < 256)
    throw new Error(
      `a vocabulary of ${options.vocabularySize} is too small for 256 bytes and the added tokens`,
    );
  const words = countWords(
    texts,
    added.map(({ content }) => content),
  );
  const { tokens, merges } = learnMerges(words, size, options.minimumCount ?? 2);
  return tokenizerJson(tokens, merges, added);
}

function countWords(texts: Iterable<string>, addedTokens: readonly string[]): Word[] {
  const pattern = new RegExp(wordPattern, 'gu');
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const section of splitAt(text, addedTokens)) {
      for (const [word] of section.normalize('NFC').matchAll(pattern))
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  const encoder = new TextEncoder();
  // In byte-level vocabularies ids 0-255 are in the order of the characters that represent bytes.
  const idOfByte = byteLevelAlphabet.map((character) => sortedAlphabet.indexOf(character));
  return [...counts].map(([word, count]) => ({
    ids: Array.from(encoder.encode(word), (byte) => idOfByte[byte]!),
    count,
  }));
}

const sortedAlphabet: readonly string[] = [...byteLevelAlphabet].sort();

/** Splits at longer tokens first, so that a token that contains another stays whole. */
function splitAt(text: string, separators: readonly string[]): readonly string[] {
  const longestFirst = [...separators].sort((a, b) => b.length - a.length);
  return longestFirst.reduce((parts, separator) => parts.flatMap((part) => part.split(separator)), [text]);
}

/** Pairs are keyed as left * 2^20 + right: exact in a double, and in order of ids. */
const pairBase = 2 ** 20;

function learnMerges(words: Word[], size: number, minimumCount: number) {
  const tokens = [...sortedAlphabet];
  const merges: [string, string][] = [];
  const counts = new Map<number, number>();
  const wordsWith = new Map<number, Set<number>>();
  const countPairs = (index: number, sign: 1 | -1) => {
    const { ids, count } = words[index]!;
    for (let i = 0; i + 1 < ids.length; i++) {
      const pair = ids[i]! * pairBase + ids[i + 1]!;
      counts.set(pair, (counts.get(pair) ?? 0) + sign * count);
      if (sign > 0) (wordsWith.get(pair) ?? wordsWith.set(pair, new Set()).get(pair)!).add(index);
    }
  };
  for (let index = 0; index < words.length; index++) countPairs(index, 1);

  while (tokens.length < size) {
    const best = mostFrequent(counts);
    if (best === undefined || counts.get(best)! < minimumCount) break;
    const left = Math.floor(best / pairBase);
    const right = best % pairBase;
    const merged = tokens.push(tokens[left]! + tokens[right]!) - 1;
    merges.push([tokens[left]!, tokens[right]!]);
    for (const index of wordsWith.get(best)!) {
      countPairs(index, -1);
      words[index] = { ...words[index]!, ids: merge(words[index]!.ids, left, right, merged) };
      countPairs(index, 1);
    }
    counts.delete(best);
    wordsWith.delete(best);
  }
  return { tokens, merges };
}

function mostFrequent(counts: ReadonlyMap<number, number>): number | undefined {
  let best: number | undefined;
  let most = 0;
  for (const [pair, count] of counts) {
    if (count > most || (count === most && best !== undefined && pair < best)) {
      best = pair;
      most = count;
    }
  }
  return best;
}

function merge(ids: readonly number[], left: number, right: number, merged: number): readonly number[] {
  const result: number[] = [];
  for (let i = 0; i < ids.length; i++) {
    if (ids[i] === left && ids[i + 1] === right) {
      result.push(merged);
      i++;
    } else result.push(ids[i]!);
  }
  return result;
}

function tokenizerJson(
  tokens: readonly string[],
  merges: readonly [string, string][],
  added: readonly { content: string; special: boolean }[],
): Readonly<Record<string, unknown>> {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added.map(({ content, special }, index) => ({
      id: tokens.length + index,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special,
    })),
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: wordPattern }, behavior: 'Isolated', invert: false },
        byteLevel,
      ],
    },
    post_processor: byteLevel,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: '',
      end_of_word_suffix: '',
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
    },
  };
}
