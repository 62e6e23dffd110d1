import { expect, test } from 'vitest';
import { defined } from '../../../../shared/lang/defined.ts';
import type { AnswerFormat, RequestedSampling } from '../../generation.ts';
import { beginSequence } from './sequence.ts';

/** One token per character; 0 ends an answer. With them, a free text has more continuations than are recorded. */
const foreign = Array.from({ length: 80 }, (_, at) => String.fromCharCode(0x400 + at));
const characters = ['', ...'abcdefghijklmnopqrstuvwxyz<>_/{}":, ', ...foreign];
const text = (ids: readonly number[]) => ids.map((id) => characters[id] ?? '\uFFFD').join('');
const model = {
  tokenizer: {
    decode: text,
    streamDecoder: () => ({ push: (id: number) => text([id]), flush: () => '' }),
    bytesOf: (id: number) => Buffer.from(text([id])),
    vocabularySize: characters.length,
  },
  endTokenIds: new Set([0]),
  defaults: { temperature: 0, topP: 1, topK: 0 },
};
const neutral: RequestedSampling = {
  stop: [],
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
  logitBias: [],
};

/** Samples a text character by character; `|` is the end token. */
function say(
  words: string,
  {
    maxTokens = 99,
    topLogProbs,
    callsTools = false,
    forcedCall,
    singleCall,
    format,
    argumentSchemas,
    ...asked
  }: Partial<RequestedSampling> & {
    readonly topLogProbs?: number;
    readonly callsTools?: boolean;
    readonly forcedCall?: readonly string[];
    readonly singleCall?: true;
    readonly format?: AnswerFormat;
    readonly argumentSchemas?: Readonly<Record<string, unknown>>;
  } = {},
) {
  const sequence = beginSequence(
    model,
    {
      target: { kind: 'live', adapter: 'default' },
      sampling: { ...neutral, ...asked },
      prompt: { promptIds: [1, 2], maxTokens },
      callsTools,
      ...defined({
        toolNames: callsTools ? ['ls'] : undefined,
        topLogProbs,
        forcedCall,
        singleCall,
        format,
        argumentSchemas,
      }),
    },
    'seed',
  );
  const chunks = [];
  for (const character of words) {
    const logits = new Float32Array(characters.length).fill(-10);
    logits[character === '|' ? 0 : characters.indexOf(character)] = 10;
    const { next, chunk } = sequence.take(logits);
    if (chunk !== undefined) chunks.push(chunk);
    if (next === undefined) break;
  }
  return { chunks, shown: chunks.map((chunk) => chunk.text).join(''), result: sequence.result(7) };
}

test('an answer ends at its end token, which is recorded and not shown', () => {
  const { shown, result } = say('hello|');
  expect(shown).toBe('hello');
  expect(result).toMatchObject({
    version: 7,
    finishReason: 'stop',
    usage: { promptTokens: 2, completionTokens: 6 },
  });
  expect(result.tokens!.responseIds.at(-1)).toBe(0);
  expect(result.tokens).toMatchObject({
    greedy: true,
    effectiveTemperature: 1,
    filters: { topP: 1, topK: 0 },
  });
});

test('each sampled token has one log-prob, from the softmax over all logits', () => {
  const { result } = say('hi|');
  const expected = -Math.log(1 + (characters.length - 1) * Math.exp(-20));
  expect(result.tokens!.logProbs).toHaveLength(3);
  for (const logProb of result.tokens!.logProbs) expect(logProb).toBeCloseTo(expected, 9);
});

test('a stop string is withheld and never shown, but its tokens are recorded', () => {
  const { chunks, result } = say('abcxabcd___', { stop: ['abcd'] });
  expect(result.stopSequence).toBe('abcd');
  expect(chunks.map((chunk) => chunk.text)).toEqual(['abcx']);
  expect(result.finishReason).toBe('stop');
  expect(text(result.tokens!.responseIds)).toBe('abcxabcd');
  expect(say('abc|', { stop: ['abcd'] }).shown).toBe('abc');
  expect(say('abc|', { stop: ['abcd'] }).result).not.toHaveProperty('stopSequence');
});

test('an answer that reaches its token limit shows the withheld text', () => {
  const { shown, result } = say('abcdef', { stop: ['cx'], maxTokens: 3 });
  expect(shown).toBe('abc');
  expect(result).toMatchObject({ finishReason: 'length', sampling: { maxTokens: 3 } });
});

test('tool calls are separated from the text if the client sent tools', () => {
  const words = 'so <tool_call>{"name": "ls"}</tool_call>|';
  const { chunks, shown, result } = say(words, { callsTools: true });
  expect(shown).toBe('so ');
  expect(chunks.flatMap((chunk) => chunk.toolCalls ?? [])).toMatchObject([
    { function: { name: 'ls', arguments: '{}' } },
  ]);
  expect(result.finishReason).toBe('tool_calls');
  expect(say(words).shown).toBe(words.slice(0, -1));
});

test('reasoning is separated from the text', () => {
  const { chunks, shown, result } = say('<think>hm, one</think>yes|');
  expect(shown).toBe('yes');
  expect(chunks.map(({ reasoning = '' }) => reasoning).join('')).toBe('hm, one');
  expect(result.finishReason).toBe('stop');
});

test('a stop token ends the answer like the end token', () => {
  const { shown, result } = say('one, two', { stopTokenIds: [characters.indexOf(',')] });
  expect(shown).toBe('one');
  expect(result).toMatchObject({
    finishReason: 'stop',
    sampling: { stopTokenIds: [characters.indexOf(',')] },
  });
  expect(text(result.tokens!.responseIds)).toBe('one,');
});

test('min_p is recorded with the other filters', () => {
  const { result } = say('hi|', { minP: 0.1 });
  expect(result.tokens!.filters).toEqual({ topP: 1, topK: 0, minP: 0.1 });
  expect(result).not.toHaveProperty('untrainable');
});

test('shown tokens include their alternatives', () => {
  const { chunks } = say('hi|', { topLogProbs: 2 });
  expect(chunks.flatMap((chunk) => chunk.tokens.map(({ token }) => token))).toEqual(['h', 'i']);
  expect(chunks[0]!.tokens[0]!.alternatives).toHaveLength(2);
  expect(chunks[0]!.tokens[0]!.alternatives[0]).toMatchObject({ token: 'h' });
});

test('an answer that was cut off is aborted; penalties make it untrainable', () => {
  expect(say('hel').result.finishReason).toBe('aborted');
  expect(say('hi|', { presencePenalty: 1 }).result.untrainable).toBe('penalties');
  expect(say('hi|').result).not.toHaveProperty('untrainable');
});

test('logits that are not finite end the answer with an error', () => {
  const sequence = beginSequence(
    model,
    {
      target: { kind: 'live', adapter: 'default' },
      sampling: neutral,
      prompt: { promptIds: [1], maxTokens: 5 },
      callsTools: false,
    },
    1,
  );
  expect(() => sequence.take(new Float32Array(characters.length).fill(Number.NaN))).toThrow(/not finite/);
});

test('a forced call is written by the policy and ends the answer', () => {
  const { chunks, result } = say(' "get", "arguments": {"a":"b"}rest', { forcedCall: ['get', 'set'] });
  expect(chunks.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.function))).toEqual([
    { name: 'get', arguments: '{"a":"b"}' },
  ]);
  expect(chunks.map(({ text }) => text).join('')).toBe('');
  expect(result.finishReason).toBe('tool_calls');
  expect(result).not.toHaveProperty('untrainable'); // all of it was the policy's own choice
});

test('a forced call trains: the allowed tokens are recorded, and log-probs are within them', () => {
  const { chunks, result } = say('xxxxxxxxxx', { forcedCall: ['get'], maxTokens: 8 });
  const written = chunks.flatMap(({ callParts = [] }) => callParts.map((part) => part.arguments)).join('');
  expect(written).toMatch(/^\{/);
  expect(result).not.toHaveProperty('untrainable');
  const { responseIds, logProbs, allowed = [] } = result.tokens!;
  expect(logProbs).toHaveLength(responseIds.length);
  for (const { at, ids } of allowed) {
    expect(ids).toContain(responseIds[at]);
    if (ids.length === 1) expect(logProbs[at]).toBe(0);
  }
  // arguments that are any object begin with white space, a key or the closing brace
  expect(allowed.length).toBeGreaterThan(0);
});

test('the log-prob of a restricted choice is normalised over the allowed tokens', () => {
  const format: AnswerFormat = { kind: 'choice', of: ['no', 'so'], param: 'x' };
  const sequence = beginSequence(
    model,
    {
      target: { kind: 'live', adapter: 'default' },
      sampling: { ...neutral, temperature: 1 },
      prompt: { promptIds: [1], maxTokens: 9 },
      callsTools: false,
      format,
    },
    1,
  );
  const [n, s, o] = ['n', 's', 'o'].map((letter) => characters.indexOf(letter)) as [number, number, number];
  const logits = new Float32Array(characters.length).fill(5);
  logits[n] = 1;
  logits[s] = 2;
  sequence.take(logits);
  sequence.take(logits);
  const { tokens } = sequence.result(0);
  const total = Math.log(Math.exp(1) + Math.exp(2));
  expect(tokens!.logProbs[0]).toBeCloseTo((tokens!.responseIds[0] === n ? 1 : 2) - total, 6);
  expect(tokens!.logProbs[1]).toBe(0);
  expect(tokens!.allowed).toEqual([
    { at: 0, ids: [n, s].sort((a, b) => a - b) },
    { at: 1, ids: [o] },
  ]);
});

test('the arguments of a forced call match the schema of the tool', () => {
  const argumentSchemas = {
    get: { type: 'object', properties: { a: { enum: ['b', 'c'] } }, required: ['a'] },
  };
  const valid = say(' "get", "arguments": {"a":"c"}}rest', { forcedCall: ['get', 'set'], argumentSchemas });
  expect(valid.chunks.flatMap(({ toolCalls = [] }) => toolCalls.map((call) => call.function))).toEqual([
    { name: 'get', arguments: '{"a":"c"}' },
  ]);
  expect(valid.result).toMatchObject({ finishReason: 'tool_calls' });
  expect(valid.result).not.toHaveProperty('untrainable');
  const guarded = say(`{"x":${'"b'.repeat(20)}`, { forcedCall: ['get'], argumentSchemas });
  const [call] = guarded.chunks.flatMap(({ toolCalls = [] }) => toolCalls);
  expect(JSON.parse(call!.function.arguments)).toEqual({ a: 'b' });
  expect(guarded.result).not.toHaveProperty('untrainable');
});

test('with a single call allowed, the answer ends before the second', () => {
  const one = '<tool_call>{"name": "a", "arguments": {}}</tool_call>';
  const { chunks, result } = say(`${one}${one}|`, { callsTools: true, singleCall: true });
  expect(chunks.flatMap(({ toolCalls = [] }) => toolCalls)).toHaveLength(1);
  expect(chunks.flatMap(({ callParts = [] }) => callParts).filter(({ name }) => name)).toHaveLength(1);
  expect(result.finishReason).toBe('tool_calls');
  expect(say(`${one}|`, { callsTools: true, singleCall: true }).result.tokens!.responseIds.at(-1)).toBe(0);
});

const named: AnswerFormat = {
  kind: 'schema',
  param: 'response_format',
  schema: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
};

test('a complete document ends the answer, and trains if the guard changed nothing', () => {
  const { shown, result } = say('{"a": "<think>b"}rest', { format: named, stop: ['b'], stopTokenIds: [2] });
  expect(shown).toBe('{"a": "<think>b"}'); // marks and stops are text in it
  expect(result.finishReason).toBe('stop');
  expect(result).not.toHaveProperty('untrainable');
});

test('if the guard changes a token that too many others could replace, the turn does not train', () => {
  const { shown, result } = say('abcdefgh', {
    format: { kind: 'regex', regex: '[^b]*', param: 'x' },
    maxTokens: 6,
  });
  expect(shown).not.toMatch(/b/);
  expect(result.untrainable).toBe('constrained');
  expect(result.tokens).not.toHaveProperty('allowed');
  expect(result.tokens!.logProbs.every((logProb) => logProb < 0)).toBe(true);
});

test('tokens before a restricted choice change nothing about its record', () => {
  const { shown, result } = say('so it is, in full, no end', { format: named, maxTokens: 6 });
  expect(shown).toMatch(/^ ?\{ ?"a/);
  expect(result).toMatchObject({ finishReason: 'length' });
  expect(result).not.toHaveProperty('untrainable');
  expect(result.tokens!.allowed!.map(({ at }) => at)).toContain(0);
});

test('white space is bounded, and an answer ends only where its document can end', () => {
  expect(say('   |{"a":""}', { format: named }).shown.replace(/^ /, '')).not.toMatch(/^ /);
  const { shown, result } = say('no|', { format: { kind: 'choice', of: ['no', 'nothing'], param: 'x' } });
  expect(shown).toBe('no');
  expect(result).toMatchObject({ finishReason: 'stop' });
  expect(result).not.toHaveProperty('untrainable');
});

test('with tools, an answer of a format is the document or a call', () => {
  const both = { format: named, callsTools: true } as const;
  const call = say('<tool_call>{"name": "ls", "arguments": {}}</tool_call>|', both);
  expect(call.chunks.flatMap(({ toolCalls = [] }) => toolCalls)).toMatchObject([
    { function: { name: 'ls' } },
  ]);
  expect(call.shown).toBe('');
  expect(call.result.finishReason).toBe('tool_calls');
  expect(call.result).not.toHaveProperty('untrainable');
  const written = '{"a":"<tool_call>{"}';
  const document = say(`${written}x`, both);
  expect(document.shown).toBe(written);
  expect(document.result.finishReason).toBe('stop');
  expect(say('so <tool_call>|', { ...both, maxTokens: 9 }).result).not.toHaveProperty('untrainable');
});
