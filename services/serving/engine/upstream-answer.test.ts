import { expect, test } from 'vitest';
import type { GenerationRequest } from './engine.ts';
import { collectUpstream } from './upstream-answer.ts';
import { UpstreamChunk } from './upstream-chunk.ts';

const speaker = { version: 0, logProbs: 'none', model: undefined } as const;
const request: GenerationRequest = {
  target: { kind: 'live', adapter: 'default' },
  messages: [],
  tools: [],
  templateVariables: {},
  choices: 1,
  sampling: { stop: [], frequencyPenalty: 0, presencePenalty: 0, repetitionPenalty: 1, logitBias: [] },
};

test.each([
  ['stop', 'stop'],
  ['length', 'length'],
  ['function_call', 'tool_calls'],
  ['abort', 'aborted'],
  ['error', 'aborted'],
])('an answer that ended upstream as %s is %s here', (theirs, ours) => {
  const answer = collectUpstream(request, speaker)[0]!;
  answer.add(UpstreamChunk.parse({ choices: [{ delta: { content: 'Hel' }, finish_reason: theirs }] }));
  expect(answer.result(false).finishReason).toBe(ours);
});

test.each([
  ['repetition', undefined, 'stop'],
  ['eos_token', [{ index: 0, id: 'a', function: { name: 'exec', arguments: '{}' } }], 'tool_calls'],
])(
  'an end that nobody knows (%s) is told as a whole answer, kept by its name, and does not train',
  (word, tool_calls, ours) => {
    const answer = collectUpstream(request, speaker)[0]!;
    const delta = { content: 'Hel', ...(tool_calls === undefined ? {} : { tool_calls }) };
    answer.add(UpstreamChunk.parse({ choices: [{ delta, finish_reason: '' }] }));
    expect(answer.hasFinished()).toBe(false); // some engines write '' while they go on
    answer.add(UpstreamChunk.parse({ choices: [{ delta: {}, finish_reason: word }] }));
    expect(answer.hasFinished()).toBe(true);
    const ended = answer.result(false);
    expect([ended.finishReason, ended.engineFinishReason]).toEqual([ours, word]);
    expect(ended.untrainable).toBe('unknown-finish-reason');
  },
);

test('an end of a filter’s is told as one', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  answer.add(UpstreamChunk.parse({ choices: [{ delta: {}, finish_reason: 'content_filter' }] }));
  expect(answer.result(false)).toMatchObject({ finishReason: 'content_filter' });
  expect(answer.result(false).engineFinishReason).toBeUndefined();
});

test('calls that the engine gives one id, or none, are told apart', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  const tool_calls = ['a', 'a', '', ''].map((id, index) => ({ index, id, function: { name: 'exec' } }));
  answer.add(UpstreamChunk.parse({ choices: [{ delta: { tool_calls } }] }));
  const ids = answer.rest()!.toolCalls!.map(({ id }) => id);
  expect(ids[0]).toBe('a');
  expect(new Set(ids).size).toBe(4);
  expect(ids).not.toContain('');
});

test('each choice has its own text and tokens; what upstream counts of all of them is shared out', () => {
  const three = collectUpstream({ ...request, choices: 3 }, speaker);
  const frames = [
    { prompt_token_ids: [5], choices: [{ index: 1, delta: { content: 'one' }, token_ids: [1, 2] }] },
    { choices: [{ index: 0, delta: { content: 'null' } }] },
    {
      choices: [0, 1, 2].map((index) => ({
        index,
        delta: {},
        finish_reason: index === 2 ? 'length' : 'stop',
      })),
    },
    { choices: [], usage: { prompt_tokens: 1, completion_tokens: 8 } },
  ];
  const shown = three.map((one) => frames.map((frame) => one.add(UpstreamChunk.parse(frame))?.text ?? ''));
  expect(shown.map((texts) => texts.join(''))).toEqual(['null', 'one', '']);
  expect(three.map((one) => one.hasFinished())).toEqual([true, true, true]);
  const results = three.map((one) => one.result(false));
  expect(results.map(({ finishReason }) => finishReason)).toEqual(['stop', 'stop', 'length']);
  expect(results.map(({ usage }) => usage.completionTokens)).toEqual([3, 2, 2]);
  const seeded = { ...request, choices: 2, sampling: { ...request.sampling, seed: 4 } };
  const seeds = collectUpstream(seeded, speaker).map((one) => one.result(false).sampling.seed);
  expect(seeds).toEqual([4, undefined]); // theirs is not told
});
