import { expect, test } from 'vitest';
import type { GenerationRequest } from '../../generation.ts';
import { collectSglang } from './sglang-answer.ts';
import { SglangChunk } from './sglang-chunk.ts';

const request: GenerationRequest = {
  target: { kind: 'live', adapter: 'default' },
  messages: [],
  tools: [],
  templateVariables: {},
  choices: 1,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
};
const piece = (text: string) => ({ text, reasoning: '', toolCalls: [], callParts: [], ends: false });
const collect = () =>
  collectSglang({
    request,
    version: 0,
    index: 0,
    logProbs: 'scaled',
    tokenizer: { decode: String },
    prompt: { promptIds: [7], maxTokens: 9 } as never,
    text: { push: (id: number) => piece(`${id} `), end: () => piece(''), calledTools: () => false } as never,
  });
const event = (all: number, ids: readonly number[], type: string | null = null) =>
  SglangChunk.parse({
    output_ids: ids,
    meta_info: {
      prompt_tokens: 1,
      completion_tokens: all,
      weight_version: 'default',
      finish_reason: type === null ? null : { type },
      output_token_logprobs: ids.map((id) => [-1, id, null]),
    },
  });

test.each([
  ['all tokens so far', [event(2, [1, 2]), event(3, [1, 2, 3]), event(3, [1, 2, 3], 'stop')]],
  ['the new ones alone', [event(2, [1, 2]), event(3, [3]), event(3, [], 'stop')]],
  // SGLang counts first, and writes the list after it has served another answer
  [
    'more than it counted',
    [event(1, [1, 2]), event(2, [1, 2]), event(2, [1, 2, 3]), event(3, [1, 2, 3], 'stop')],
  ],
])('events with %s give the same answer', (_, events) => {
  const answer = collect();
  expect(events.map((one) => answer.add(one)?.text ?? '').join('')).toBe('1 2 3 ');
  expect(answer.result(false)).toMatchObject({
    finishReason: 'stop',
    tokens: { promptIds: [7], responseIds: [1, 2, 3], logProbs: [-1, -1, -1] },
  });
});

test('an unknown finish reason is recorded, and the answer does not train', () => {
  const answer = collect();
  answer.add(event(1, [1], 'repetition'));
  expect(answer.result(false)).toMatchObject({
    finishReason: 'stop',
    engineFinishReason: 'repetition',
    untrainable: 'unknown-finish-reason',
  });
});
