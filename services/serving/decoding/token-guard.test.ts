import { expect, test } from 'vitest';
import { createRandom } from '../../../shared/policy/model/random.ts';
import type { AnswerFormat } from '../generation.ts';
import { createFormatMatchers } from './format-matcher.ts';
import { createTokenGuard } from './token-guard.ts';

const END = 0;
const cut = (text: string, at: number): readonly Uint8Array[] => {
  const bytes = Buffer.from(text);
  return [bytes.subarray(0, at), bytes.subarray(at)];
};
const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at));
/** Tokens of single characters, of several, and of parts of characters; 0 ends an answer, 1 is special. */
const tokens: readonly Uint8Array[] = [
  Buffer.alloc(0),
  Buffer.alloc(0),
  ...[...printable, '\n', '{"', '": ', '"a": "', 'true', 'null', '"}', 'ab', 'é', '  '].map((text) =>
    Buffer.from(text),
  ),
  ...cut('é', 1),
  ...cut('😀', 1),
  ...cut('😀', 3),
  Buffer.from([0xff]),
  Buffer.from([0xc0, 0x80]),
];
const tokenizer = { bytesOf: (id: number) => tokens[id] ?? new Uint8Array(0), vocabularySize: tokens.length };
const matcherOf = createFormatMatchers();
const guardOf = (format: object) =>
  createTokenGuard(
    { tokenizer, endTokenIds: new Set([END]) },
    matcherOf({ param: 'x', ...format } as AnswerFormat),
  );
const idOf = (text: string) => tokens.findIndex((bytes) => Buffer.from(bytes).toString() === text);

test.each([
  { kind: 'json' },
  {
    kind: 'schema',
    schema: {
      type: 'object',
      properties: { a: { type: 'string', minLength: 2, maxLength: 3 } },
      required: ['a'],
    },
  },
  { kind: 'schema', schema: { enum: ['é', '😀😀', 'ab'] } },
  { kind: 'regex', regex: '[^a]{0,4}' },
])('filtering all tokens and asking for each gives the same result, and texts are valid: %j', (format) => {
  const random = createRandom(JSON.stringify(format));
  for (let time = 0; time < 40; time++) {
    const guard = guardOf(format);
    const taken: number[] = [];
    for (let count = 0; count < 60 && !guard.isOver() && taken.at(-1) !== END; count++) {
      const logits = new Float32Array(tokens.length + 3); // a model may have rows that no token has
      guard.keepOut(logits);
      const accepted = [...logits.keys()].filter((id) => logits[id] === 0);
      expect(accepted).toEqual([...logits.keys()].filter((id) => guard.accepts(id)));
      expect(accepted.length).toBeGreaterThan(0); // some token can always follow
      expect(guard.allowed(tokens.length)).toEqual(accepted);
      expect(guard.allowed(accepted.length)).toEqual(accepted);
      expect(guard.allowed(accepted.length - 1)).toBeUndefined();
      const id = accepted[Math.floor(random() * accepted.length)]!;
      guard.take(id);
      taken.push(id);
    }
    const bytes = Buffer.concat(taken.map((id) => tokens[id]!));
    if (guard.isOver() || taken.at(-1) === END) new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  }
});

test('a code point may be split over tokens, and the answer ends only after all of it', () => {
  const guard = guardOf({ kind: 'choice', of: ['é', 'éa'] });
  const [first, second] = [...cut('é', 1)].map((part) =>
    tokens.findIndex((bytes) => Buffer.compare(bytes, part) === 0),
  );
  expect(guard.accepts(idOf('a'))).toBe(false);
  expect(guard.accepts(END)).toBe(false);
  expect(guard.accepts(first!)).toBe(true);
  guard.take(first!);
  expect(guard.accepts(END)).toBe(false);
  guard.take(second!);
  expect(guard.accepts(END)).toBe(true);
  expect(guard.isOver()).toBe(false);
  guard.take(idOf('a'));
  expect(guard.isOver()).toBe(true);
});
