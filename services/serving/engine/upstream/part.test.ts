import { expect, test } from 'vitest';
import { UpstreamChunk } from './chunk.ts';
import { readPart } from './part.ts';

test('an invalid part is reported in one line', () => {
  expect(readPart(UpstreamChunk, '{"choices":[{"delta":{"content":"hi"}}]}').choices).toHaveLength(1);
  const wrong = '(choices: Invalid input: expected array, received number)';
  expect(() => readPart(UpstreamChunk, '{"choices":3}')).toThrow(wrong);
  expect(() => readPart(UpstreamChunk, '3')).toThrow('(Invalid input: expected object, received number)');
  expect(() => readPart(UpstreamChunk, '{"choi')).toThrow('cannot read a part of its answer (invalid JSON)');
});
