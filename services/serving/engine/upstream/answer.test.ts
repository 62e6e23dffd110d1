import { expect, test } from 'vitest';
import { defined } from '../../../../shared/lang/defined.ts';
import type { GenerationRequest } from '../../generation.ts';
import { collectUpstream } from './answer.ts';
import { UpstreamChunk } from './chunk.ts';

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
  ['toString', undefined, 'stop'],
  ['eos_token', [{ index: 0, id: 'a', function: { name: 'exec', arguments: '{}' } }], 'tool_calls'],
])(
  'an unknown finish reason (%s) is recorded, and the answer counts as complete but does not train',
  (word, tool_calls, ours) => {
    const answer = collectUpstream(request, speaker)[0]!;
    const delta = { content: 'Hel', ...defined({ tool_calls }) };
    answer.add(UpstreamChunk.parse({ choices: [{ delta, finish_reason: '' }] }));
    expect(answer.hasFinished()).toBe(false); // some servers send '' until the end
    answer.add(UpstreamChunk.parse({ choices: [{ delta: {}, finish_reason: word }] }));
    expect(answer.hasFinished()).toBe(true);
    const ended = answer.result(false);
    expect([ended.finishReason, ended.engineFinishReason]).toEqual([ours, word]);
    expect(ended.untrainable).toBe('unknown-finish-reason');
  },
);

test('a call that ended upstream as stop, as vLLM does for a named tool, ended as a call', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  const tool_calls = [{ index: 0, id: 'a', function: { name: 'exec', arguments: '{}' } }];
  answer.add(UpstreamChunk.parse({ choices: [{ delta: { tool_calls } }] }));
  answer.add(UpstreamChunk.parse({ choices: [{ delta: {}, finish_reason: 'stop' }] }));
  expect(answer.result(false)).toMatchObject({ finishReason: 'tool_calls' });
  expect(answer.result(false).engineFinishReason).toBeUndefined();
});

test('an end by a content filter is reported as such', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  answer.add(UpstreamChunk.parse({ choices: [{ delta: {}, finish_reason: 'content_filter' }] }));
  expect(answer.result(false)).toMatchObject({ finishReason: 'content_filter' });
  expect(answer.result(false).engineFinishReason).toBeUndefined();
});

test('calls with the same id, or none, are kept apart', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  const tool_calls = ['a', 'a', '', ''].map((id, index) => ({ index, id, function: { name: 'exec' } }));
  answer.add(UpstreamChunk.parse({ choices: [{ delta: { tool_calls } }] }));
  const ids = answer.wholeCalls()!.toolCalls!.map(({ id }) => id);
  expect(ids[0]).toBe('a');
  expect(new Set(ids).size).toBe(4);
  expect(ids).not.toContain('');
});

test('each choice has its own text and tokens; the common token count is divided', () => {
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
  expect(seeds).toEqual([4, undefined]); // the server does not report it
});

test('calls without a number continue by their id, or without any', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  const say = (...tool_calls: object[]) =>
    answer.add(UpstreamChunk.parse({ choices: [{ delta: { tool_calls } }] }));
  say({ id: 'a', function: { name: 'look', arguments: '{"x":' } });
  say({ function: { arguments: '1}' } });
  say({ id: 'b', function: { name: 'listen', arguments: '{' } });
  say({ id: 'b', function: { arguments: '}' } });
  expect(
    answer.wholeCalls()!.toolCalls!.map(({ id, function: called }) => [id, called.name, called.arguments]),
  ).toEqual([
    ['a', 'look', '{"x":1}'],
    ['b', 'listen', '{}'],
  ]);
});

test('with a single call allowed, the answer ends when a second call begins', () => {
  const answer = collectUpstream({ ...request, singleCall: true }, { ...speaker, logProbs: 'raw' })[0]!;
  const token = (id: number, delta: object, more: object = {}) =>
    answer.add(
      UpstreamChunk.parse({
        ...defined({ prompt_token_ids: id === 1 ? [7] : undefined }),
        choices: [{ delta, token_ids: [id], logprobs: { content: [{ token: '', logprob: -1 }] }, ...more }],
      }),
    );
  const call = (index: number) => ({ tool_calls: [{ index, function: { name: 'look', arguments: '{}' } }] });
  token(1, call(0));
  expect(answer.isCut()).toBe(false);
  token(2, call(1));
  expect([answer.isCut(), answer.hasFinished()]).toEqual([true, true]);
  token(3, { content: 'and on' }, { finish_reason: 'stop' });
  expect(answer.wholeCalls()!.toolCalls).toHaveLength(1);
  const ended = answer.result(false);
  expect(ended).toMatchObject({ finishReason: 'tool_calls', tokens: { responseIds: [1, 2] } });
  expect(ended.untrainable).toBeUndefined();
});

test('reasoning is read under both names', () => {
  const thought = (delta: object) =>
    collectUpstream(request, speaker)[0]!.add(UpstreamChunk.parse({ choices: [{ delta }] }))?.reasoning;
  expect(thought({ reasoning: 'Hm', reasoning_content: '' })).toBe('Hm');
  expect(thought({ reasoning: 'Hm', reasoning_content: 'Hm' })).toBe('Hm');
  expect(thought({ reasoning_content: 'Hm' })).toBe('Hm');
});

test('invalid counts and numbers are ignored, and the answer is served', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  const frames = [
    { choices: null, usage: { prompt_tokens: 3, total_tokens: 3 } },
    { choices: [{ index: null, delta: { content: 'Hel' }, stop_reason: {} }], usage: {} },
    {
      choices: [{ delta: { content: 'lo' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: { cached_tokens: '1' } },
    },
  ];
  const text = frames.map((frame) => answer.add(UpstreamChunk.parse(frame))?.text ?? '').join('');
  expect(text).toBe('Hello');
  expect(answer.result(false).usage).toEqual({ promptTokens: 3, completionTokens: 2 });
});

test('an unknown finish reason is shortened and reduced to printable ASCII', () => {
  const answer = collectUpstream(request, speaker)[0]!;
  answer.add(UpstreamChunk.parse({ choices: [{ finish_reason: `\u001b[2J${'a'.repeat(1000)}` }] }));
  expect(answer.result(false).engineFinishReason).toBe(`?[2J${'a'.repeat(96)}`);
});
