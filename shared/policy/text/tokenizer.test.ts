import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { modelFolder } from '../model/model-folder.ts';
import { readReference, referencePath } from '../testing/reference-fixtures.ts';
import { createTokenDecoder } from './token-decoder.ts';
import { loadTokenizer, type Tokenizer } from './tokenizer.ts';

type Case = {
  readonly text: string;
  readonly ids: number[];
  readonly ids_with_special: number[];
  readonly decoded: string;
  readonly decoded_skip_special: string;
  readonly deltas: string[];
  readonly flush: string;
};
type Stream = {
  readonly note: string;
  readonly ids: number[];
  readonly decoded: string;
  readonly deltas: string[];
};
type Cases = {
  readonly vocab_size: number;
  readonly cases: Case[];
  readonly streams: (Stream & { flush: string })[];
};

/**
 * The reference deltas come from Python's incremental decoder, which holds ED A0 back for the third byte. The
 * WHATWG decoder, whose rule is the one to keep (U+FFFD as soon as bytes cannot become valid), gives up at
 * the second. Both say the same text in the end.
 */
const whatwgDeltas: Readonly<Record<string, readonly string[]>> = {
  surrogate: ['', '\uFFFD\uFFFD', '\uFFFD'],
};

const stream = (tokenizer: Tokenizer, ids: readonly number[]) => {
  const decoder = tokenizer.streamDecoder();
  return { deltas: ids.map((id) => decoder.push(id)), flush: decoder.flush() };
};

describe.each(['qwen', 'llama3', 'sentencepiece', 'sentencepiece-metaspace'])('%s', (name) => {
  const load = () => loadTokenizer(referencePath(`tokenizer/${name}`));
  const reference = () => readReference(`tokenizer/${name}/tokenizer-cases.json`) as Cases;

  test('encodes, decodes and streams every text like the reference', async () => {
    const tokenizer = await load();
    const { cases, vocab_size } = reference();
    expect(cases.length).toBeGreaterThan(200);
    expect(tokenizer.vocabularySize).toBe(vocab_size);
    for (const { text, ids, ids_with_special, decoded, decoded_skip_special, deltas, flush } of cases) {
      const actual = {
        text,
        ids: tokenizer.encode(text),
        ids_with_special: tokenizer.encode(text, { addSpecial: true }),
        decoded: tokenizer.decode(ids),
        decoded_skip_special: tokenizer.decode(ids, { skipSpecial: true }),
        ...stream(tokenizer, ids),
      };
      expect(actual).toEqual({ text, ids, ids_with_special, decoded, decoded_skip_special, deltas, flush });
    }
  });

  test('decodes and streams incomplete characters like the reference', async () => {
    const tokenizer = await load();
    const { streams } = reference();
    expect(streams).toHaveLength(19);
    for (const { note, ids, decoded, deltas, flush } of streams) {
      const actual = { note, decoded: tokenizer.decode(ids), ...stream(tokenizer, ids) };
      expect(actual).toEqual({ note, decoded, deltas: whatwgDeltas[note] ?? deltas, flush });
    }
  });

  test('no ids decode to an empty text, and ids outside the vocabulary to nothing', async () => {
    const tokenizer = await load();
    expect(tokenizer.decode([])).toBe('');
    expect(tokenizer.decode([tokenizer.vocabularySize, 999_999])).toBe('');
    expect(tokenizer.streamDecoder().flush()).toBe('');
  });

  test('any NFC text survives the round trip, decoded at once and streamed', async () => {
    const tokenizer = await load();
    const texts = fc.string({ unit: 'binary' }).map((text) => `a${text}`.normalize('NFC'));
    fc.assert(
      fc.property(texts, (text) => {
        const ids = tokenizer.encode(text);
        const { deltas, flush } = stream(tokenizer, ids);
        expect(tokenizer.decode(ids)).toBe(text);
        expect(deltas.join('') + flush).toBe(text);
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  test('a stream without special tokens equals decode', async () => {
    const tokenizer = await load();
    for (const { ids, decoded_skip_special } of reference().cases) {
      const decoder = tokenizer.streamDecoder({ skipSpecial: true });
      expect(ids.map(decoder.push).join('') + decoder.flush()).toBe(decoded_skip_special);
    }
  });
});

test('an unsupported decoder is refused', () => {
  const vocabulary = { token: () => undefined, isSpecial: () => false };
  expect(() => createTokenDecoder({ type: 'WordPiece' }, vocabulary)).toThrow('unsupported decoder');
  expect(() => createTokenDecoder(null, vocabulary)).toThrow('unsupported decoder');
  const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
  expect(() => createTokenDecoder({ type: 'Sequence', decoders: [strip] }, vocabulary)).toThrow(
    'Strip before Fuse',
  );
});

test('more tokens than embedding rows are refused with both numbers; spare rows are fine', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tokenizer-'));
  try {
    const nano = modelFolder('claw-nano');
    const { vocabularySize } = await loadTokenizer(nano);
    const file = JSON.parse(await readFile(join(nano, 'tokenizer.json'), 'utf8')) as {
      added_tokens: object[];
    };
    const added = { id: vocabularySize, content: '<|new|>', special: true };
    file.added_tokens.push({ ...file.added_tokens[0], ...added });
    await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(file));
    const withRows = async (rows: number) => {
      await writeFile(join(folder, 'config.json'), JSON.stringify({ vocab_size: rows }));
      return loadTokenizer(folder);
    };
    await expect(withRows(vocabularySize)).rejects.toMatchObject({
      name: 'UnsupportedModel',
      message: expect.stringMatching(
        `has ${vocabularySize + 1} tokens, but its embedding has only ${vocabularySize} rows`,
      ),
    });
    expect((await withRows(vocabularySize + 1)).idOf('<|new|>')).toBe(vocabularySize);
    expect((await withRows(vocabularySize + 300)).vocabularySize).toBe(vocabularySize + 1);
  } finally {
    await rm(folder, { recursive: true });
  }
});
