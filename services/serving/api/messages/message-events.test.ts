import { expect, test } from 'vitest';
import type { AcceptedRequest, FinishedAnswer } from '../../answer/answer.ts';
import type { AnswerChunk } from '../../generation.ts';
import { messageEvents } from './message-events.ts';
import { stopOf, usageOf } from './message-parts.ts';

const accepted = { id: 'msg_1', chat: { model: 'm', ignored: [] as const } } as unknown as AcceptedRequest;
const usage = { promptTokens: 9, completionTokens: 4, cachedPromptTokens: 5 };
const generated = { version: 2, finishReason: 'stop', sampling: {}, usage };
const finished = { version: 2, choices: [{ generated, recorded: true }], usage } as unknown as FinishedAnswer;
type Data = {
  readonly type: string;
  readonly index?: number;
  readonly delta?: { readonly text?: string; readonly partial_json?: string };
  readonly content_block?: { readonly type: string };
};

function framesOf(chunks: readonly Partial<AnswerChunk>[]) {
  const events = messageEvents(accepted);
  const frames = [
    ...events.first({ version: 2, promptTokens: 9 }),
    ...chunks.flatMap((chunk) => events.next({ text: '', tokens: [], ...chunk })),
    ...events.last(finished),
  ];
  for (const { event, data } of frames) expect((data as Data).type).toBe(event);
  return frames.map(({ data }) => data as Data);
}
/** Blocks as their deltas make them; that each is opened and closed once is checked. */
function blocksOf(events: readonly Data[]) {
  const blocks: string[] = [];
  for (const { type, index, delta, content_block: block } of events) {
    if (type === 'content_block_start') expect(blocks.push(`${block!.type} `)).toBe(index! + 1);
    if (type === 'content_block_delta')
      expect([index, blocks[index!]!.endsWith('|')]).toEqual([blocks.length - 1, false]);
    if (type === 'content_block_delta') blocks[index!] += delta!.text ?? delta!.partial_json ?? '';
    if (type === 'content_block_stop') blocks[index!] += '|';
  }
  return blocks;
}
const call = (id: string, given: string) =>
  ({ id, type: 'function', function: { name: 'exec', arguments: given } }) as const;

test('each call is sent once, in parts or whole; white space beside calls is dropped', () => {
  const frames = framesOf([
    { text: '\n' },
    { callParts: [{ id: 'a', name: 'exec', arguments: '{"x"' }] },
    { callParts: [{ id: 'a', arguments: ':1}' }], toolCalls: [call('a', '{"x":1}')] },
    { text: '\n', toolCalls: [call('b', '{}')] },
  ]);
  expect(blocksOf(frames)).toEqual(['tool_use {"x":1}|', 'tool_use {}|']);
});

test('parallel calls become consecutive blocks', () => {
  const frames = framesOf([
    { callParts: [{ id: 'a', name: 'exec', arguments: '{"x"' }] },
    { callParts: [{ id: 'b', name: 'exec', arguments: '{"y"' }] },
    { callParts: [{ id: 'a', arguments: ':1}' }] },
    { callParts: [{ id: 'b', arguments: ':2' }] },
  ]);
  expect(blocksOf(frames)).toEqual(['tool_use {"x":1}|', 'tool_use {"y":2|']);
  const ends = frames.flatMap(({ type, index }) => (type === 'content_block_stop' ? [index] : []));
  const starts = frames.flatMap(({ type, index }) => (type === 'content_block_start' ? [index] : []));
  expect([starts, ends]).toEqual([
    [0, 1],
    [0, 1],
  ]);
});

test('white space before text, or alone, is sent as text', () => {
  expect(blocksOf(framesOf([{ text: '\n' }, { text: 'so' }, { text: ' ' }]))).toEqual(['text \nso |']);
  expect(blocksOf(framesOf([{ text: ' ' }]))).toEqual(['text  |']);
  expect(blocksOf(framesOf([]))).toEqual([]);
  const around = [{ text: 'a' }, { toolCalls: [call('a', '{}')] }, { text: 'b' }];
  expect(blocksOf(framesOf(around))).toEqual(['text a|', 'tool_use {}|', 'text b|']);
});

test('values known at the end are sent at the end', () => {
  const frames = framesOf([{ text: 'hi' }]);
  expect(frames[0]).toMatchObject({ message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 0 } } });
  expect(frames.slice(-2)).toEqual([
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: usageOf(usage),
      clawloop: { version: 2, recorded: true },
    },
    { type: 'message_stop' },
  ]);
  expect(usageOf(usage)).toMatchObject({ input_tokens: 4, cache_read_input_tokens: 5, output_tokens: 4 });
});

test('every finish reason has a stop reason', () => {
  const reasonOf = (more: object) => {
    const { stop_reason, stop_sequence } = stopOf({ ...finished.choices[0]!.generated, ...more });
    return [stop_reason, stop_sequence];
  };
  expect(reasonOf({ stopSequence: 'x' })).toEqual(['stop_sequence', 'x']);
  expect(reasonOf({ finishReason: 'tool_calls', stopSequence: 'x' })).toEqual(['tool_use', null]);
  expect(reasonOf({ finishReason: 'length' })).toEqual(['max_tokens', null]);
  expect(reasonOf({ finishReason: 'length', sampling: { askedMaxTokens: 9 } })).toEqual([
    'model_context_window_exceeded',
    null,
  ]);
  expect(reasonOf({ finishReason: 'content_filter' })).toEqual(['refusal', null]);
  expect(reasonOf({ finishReason: 'aborted' })).toEqual(['max_tokens', null]);
});
