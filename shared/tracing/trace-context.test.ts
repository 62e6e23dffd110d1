import { expect, test } from 'vitest';
import { newTraceId, readTraceparent, spanIdOf, traceparentOf } from './trace-context.ts';

const [trace, span] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];

test.each([
  [`00-${trace}-${span}-01`, true],
  [`00-${trace}-${span}-00`, false],
  [`00-${trace}-${span}-03`, true], // an unknown flag beside the sampled one
])('%s is read', (text, sampled) => {
  expect(readTraceparent(text)).toEqual({ traceId: trace, spanId: span, sampled });
});

test.each([
  `00-${'0'.repeat(32)}-${span}-01`,
  `00-${trace}-${'0'.repeat(16)}-01`,
  `00-${trace.toUpperCase()}-${span}-01`,
  `ff-${trace}-${span}-01`,
  `00-${trace}-${span}`,
  '',
  undefined,
])('%s is no traceparent', (text) => {
  expect(readTraceparent(text)).toBeUndefined();
});

test('what is passed on names the span of the request, in the trace of the client if there is one', () => {
  expect(traceparentOf('t', `00-${trace}-${span}-00`)).toBe(`00-${trace}-${spanIdOf('t')}-00`);
  expect(traceparentOf('t', undefined)).toBe(`00-${newTraceId('t')}-${spanIdOf('t')}-01`);
  expect(newTraceId('t')).toMatch(/^[0-9a-f]{32}$/);
});
