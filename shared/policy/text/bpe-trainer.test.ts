import { expect, test } from 'vitest';
import { trainTokenizer } from './bpe-trainer.ts';
import { createTokenizer } from './tokenizer.ts';

const specialTokens = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
const texts = [
  'the cat sat on the mat; the dog sat on the cat.\n',
  'Numbers: 2026, 1999. Accents: café, naïve. 日本語 🙂\n\n\ttabs',
  "it's what they're saying, isn't it? <|im_start|>user\nthe end<|im_end|>",
];
type File = { model: { vocab: Record<string, number>; merges: [string, string][] } };

test('pairs are merged by count, then by id', () => {
  // "aab" x3 and "ab" x2: ab is seen 5 times, aa 3 times; then "aab" = a + ab, 3 times
  const file = trainTokenizer(['aab'.concat('\n').repeat(3), 'ab\nab\n'], {
    vocabularySize: 300,
    specialTokens: [],
  });
  expect((file as unknown as File).model.merges).toEqual([
    ['a', 'b'],
    ['a', 'ab'],
  ]);
  // xy and zw are equally frequent: the lower ids come first
  const tie = trainTokenizer(['zw\nxy\nzw\nxy\n'], { vocabularySize: 257, specialTokens: [] });
  expect((tie as unknown as File).model.merges).toEqual([['x', 'y']]);
});

test('ids are dense, bytes come first and added tokens last', () => {
  const options = { vocabularySize: 300, specialTokens, plainAddedTokens: ['<tool_call>'], minimumCount: 1 };
  const tokenizer = createTokenizer(trainTokenizer(texts, options));
  expect(tokenizer.vocabularySize).toBe(300);
  expect(tokenizer.idOf('!')).toBe(0);
  expect([...specialTokens, '<tool_call>'].map(tokenizer.idOf)).toEqual([296, 297, 298, 299]);
  expect([...tokenizer.specialIds]).toEqual([296, 297, 298]);
  expect(tokenizer.decode([297, 299, 298], { skipSpecial: true })).toBe('<tool_call>');
});

test('training texts and unseen texts survive the round trip', () => {
  const tokenizer = createTokenizer(
    trainTokenizer(texts, { vocabularySize: 400, specialTokens, minimumCount: 1 }),
  );
  for (const text of [...texts, 'Ünseen ß text: ¿qué? \u0000\u001f \uFEFF한국어 👩‍👩‍👧', '']) {
    expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.normalize('NFC'));
  }
  expect(tokenizer.encode('<|im_end|>')).toHaveLength(1);
  expect(tokenizer.encode(texts[0]!).length).toBeLessThan(texts[0]!.length / 2);
});

test('added tokens are not learned as text', () => {
  const file = trainTokenizer(['<|im_end|>'.repeat(50)], { vocabularySize: 400, specialTokens });
  expect((file as unknown as File).model.merges).toEqual([]);
});

test('equal texts give equal files, and a vocabulary that is too small is an error', () => {
  const train = () => JSON.stringify(trainTokenizer(texts, { vocabularySize: 350, specialTokens }));
  expect(train()).toBe(train());
  expect(() => trainTokenizer(texts, { vocabularySize: 258, specialTokens })).toThrow('too small');
});
