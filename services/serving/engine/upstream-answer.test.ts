import { expect, test } from 'vitest';
import type { GenerationRequest } from './engine.ts';
import { collectUpstream } from './upstream-answer.ts';
import { UpstreamChunk } from './upstream-chunk.ts';

const request: GenerationRequest = {
  target: { kind: 'live' },
  messages: [],
  tools: [],
  templateVariables: {},
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
};

test.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['function_call', 'tool_calls'],
  ['abort', 'aborted'],
  ['error', 'aborted'],
])('an answer that ended upstream as %s is %s here', (theirs, ours) => {
  const answer = collectUpstream(request, 'none');
  answer.add(UpstreamChunk.parse({ choices: [{ delta: { content: 'Hel' }, finish_reason: theirs }] }));
  expect(answer.result(false).finishReason).toBe(ours);
});
