import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UpstreamChunk } from './chunk.ts';
import { isPlainChunk } from './plain-chunk.ts';

const odd = fc.constantFrom<unknown>(
  null,
  'text',
  1,
  -1,
  0.5,
  Number.POSITIVE_INFINITY,
  [],
  {},
  [null],
  [-1],
  [{}],
);
const soundOrOdd = (sound: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 8, arbitrary: sound }, { weight: 1, arbitrary: odd });
const record = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record({ ...fields, more: odd }, { requiredKeys: [] });
const text = soundOrOdd(fc.constant(' word'));
const ids = soundOrOdd(fc.array(fc.nat(), { maxLength: 2 }));
const logProb = soundOrOdd(fc.double({ max: 0, noNaN: true }));
const entry = { token: text, logprob: logProb };
const top = soundOrOdd(fc.array(record(entry), { maxLength: 2 }));
const choice = record({
  index: soundOrOdd(fc.constant(0)),
  delta: soundOrOdd(
    record({ role: text, content: text, reasoning: text, reasoning_content: text, tool_calls: odd }),
  ),
  token_ids: ids,
  logprobs: soundOrOdd(
    record({ content: soundOrOdd(fc.array(record({ ...entry, top_logprobs: top }), { maxLength: 2 })) }),
  ),
  finish_reason: text,
  stop_reason: soundOrOdd(fc.constant(null)),
});
const frame = record({
  error: fc.constantFrom<unknown>(undefined, null, {}),
  model: text,
  prompt_token_ids: ids,
  usage: soundOrOdd(fc.constant(null)),
  choices: soundOrOdd(fc.array(choice, { maxLength: 2 })),
});

test('a plain frame is one that the schema accepts unchanged', () => {
  let plain = 0;
  fc.assert(
    fc.property(soundOrOdd(frame), (one) => {
      if (!isPlainChunk(one)) return;
      plain += 1;
      expect(one).toMatchObject(UpstreamChunk.parse(one));
    }),
    { seed: 1, numRuns: 10_000 },
  );
  expect(plain).toBeGreaterThan(300);
});

test('token frames of OpenAI and of vLLM are plain', () => {
  const openai = { index: 0, delta: { content: 'hi' }, logprobs: null, finish_reason: null };
  const logprobs = { content: [{ token: 'hi', logprob: -0.5, bytes: [104, 105], top_logprobs: [] }] };
  const vllm = {
    index: 0,
    delta: { content: 'hi' },
    logprobs,
    finish_reason: 'stop',
    stop_reason: null,
    token_ids: [7],
  };
  for (const one of [openai, vllm]) expect(isPlainChunk({ id: 'c', model: 'm', choices: [one] })).toBe(true);
});
