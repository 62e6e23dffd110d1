import { expect, test } from 'vitest';
import { UpstreamChunk } from './upstream-chunk.ts';
import { readPart } from './upstream-part.ts';

test('a part that cannot be read is told of in one line', () => {
  expect(readPart(UpstreamChunk, '{"choices":[{"delta":{"content":"hi"}}]}').choices).toHaveLength(1);
  const wrong = '(choices: Invalid input: expected array, received number)';
  expect(() => readPart(UpstreamChunk, '{"choices":3}')).toThrow(wrong);
  expect(() => readPart(UpstreamChunk, '3')).toThrow('(Invalid input: expected object, received number)');
  expect(() => readPart(UpstreamChunk, '{"choi')).toThrow(
    'a part of its answer cannot be read (it is no JSON)',
  );
});
