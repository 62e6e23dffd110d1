import { expect, test } from 'vitest';
import type { FinishedAnswer } from '../../answer/answer.ts';
import { ServingError } from '../../errors.ts';
import type { AnswerChunk } from '../../generation.ts';
import { responseEvents } from './response-events.ts';
import { itemsOf, responseHead } from './response-parts.ts';

const head = responseHead({ id: 'resp_1', model: 'm', tools: [], repeated: {} });
const finishedAs = (finishReason: string) => {
  const usage = { promptTokens: 9, completionTokens: 4 };
  return {
    version: 2,
    usage,
    choices: [{ generated: { version: 2, finishReason, usage }, recorded: true }],
  } as unknown as FinishedAnswer;
};
type Data = { readonly type: string; readonly response?: { readonly output: readonly object[] } };

function framesOf(chunks: readonly Partial<AnswerChunk>[], finishReason = 'stop') {
  const events = responseEvents(head);
  const frames = [
    ...events.first(),
    ...chunks.flatMap((chunk) => events.next({ text: '', tokens: [], ...chunk })),
    ...events.last(finishedAs(finishReason)),
  ];
  frames.forEach(({ event, data }, index) => {
    expect(data).toMatchObject({ type: event, sequence_number: index });
  });
  return frames.map(({ data }) => data as Data);
}
const call = (id: string, given: string) =>
  ({ id, type: 'function', function: { name: 'exec', arguments: given } }) as const;

test('a stream has the same items as the whole answer', () => {
  const frames = framesOf([
    { reasoning: 'H' },
    { reasoning: 'm' },
    { text: '\n' },
    { text: 'so' },
    { callParts: [{ id: 'a', name: 'exec', arguments: '{"x"' }] },
    { callParts: [{ id: 'a', arguments: ':1}' }], toolCalls: [call('a', '{"x":1}')] },
    { toolCalls: [call('b', '{}')] },
  ]);
  const answer = {
    ...({ role: 'assistant', content: '\nso', reasoning_content: 'Hm' } as const),
    tool_calls: [call('a', '{"x":1}'), call('b', '{}')],
  };
  expect(frames.at(-1)!.response!.output).toEqual(itemsOf(answer, 'resp_1'));
  const count = (type: string) => frames.filter((one) => one.type === type).length;
  expect(count('response.output_item.added')).toBe(4);
  expect(count('response.output_item.done')).toBe(4);
  expect(count('response.function_call_arguments.delta')).toBe(3);
});

test('parts of parallel calls belong to their own items', () => {
  const frames = framesOf(
    [
      { callParts: [{ id: 'a', name: 'exec', arguments: '{"x"' }] },
      { callParts: [{ id: 'b', name: 'exec', arguments: '{"y"' }] },
      { callParts: [{ id: 'a', arguments: ':1}' }] },
      { text: 'so' },
      { callParts: [{ id: 'b', arguments: ':2}' }] },
      { toolCalls: [call('a', '{"x":1}'), call('b', '{"y":2}')] },
    ],
    'tool_calls',
  );
  type Delta = { readonly item_id: string; readonly output_index: number; readonly delta: string };
  const deltas = frames.filter(({ type }) => type.endsWith('arguments.delta')) as unknown as readonly Delta[];
  const texts = Object.groupBy(deltas, ({ output_index, item_id }) => `${output_index} ${item_id}`);
  const answer = {
    ...({ role: 'assistant', content: 'so' } as const),
    tool_calls: [call('a', '{"x":1}'), call('b', '{"y":2}')],
  };
  const [message, ...calls] = itemsOf(answer, 'resp_1');
  expect(Object.entries(texts).map(([at, parts]) => [at, parts!.map(({ delta }) => delta).join('')])).toEqual(
    [
      [`0 ${calls[0]!.id}`, '{"x":1}'],
      [`1 ${calls[1]!.id}`, '{"y":2}'],
    ],
  );
  expect(frames.at(-1)!.response!.output).toEqual([...calls, message]);
});

test('white space beside calls is dropped; alone it is text', () => {
  const output = (...chunks: Partial<AnswerChunk>[]) => framesOf(chunks).at(-1)!.response!.output;
  expect(output({ text: '\n', toolCalls: [call('a', '{}')] })).toMatchObject([{ type: 'function_call' }]);
  expect(output({ text: ' ' })).toMatchObject([{ content: [{ text: ' ' }] }]);
  expect(output()).toEqual([]);
});

test('a cut answer is incomplete, a broken one has failed', () => {
  expect(framesOf([{ text: 'a' }], 'length').at(-1)).toMatchObject({
    type: 'response.incomplete',
    response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
  });
  const output = (finishReason: string) =>
    framesOf([{ reasoning: 'H' }, { text: 'a' }], finishReason).at(-1)!.response!.output;
  expect(output('length')).toMatchObject([{ status: 'completed' }, { status: 'incomplete' }]);
  expect(output('length')).toEqual(
    itemsOf({ role: 'assistant', content: 'a', reasoning_content: 'H' }, 'resp_1', { last: 'incomplete' }),
  );
  expect(framesOf([{ text: 'a' }]).at(-1)).toMatchObject({
    type: 'response.completed',
    response: { status: 'completed', usage: { total_tokens: 13 }, clawloop: { recorded: true } },
  });
});

test('a response that fails was created before, even if its answer never began', () => {
  const error = ServingError.STOPPING();
  const types = (events: ReturnType<typeof responseEvents>) =>
    events.failure(error).map(({ event }) => event);
  expect(types(responseEvents(head))).toEqual([
    'response.created',
    'response.in_progress',
    'response.failed',
  ]);
  const begun = responseEvents(head);
  begun.first();
  expect(types(begun)).toEqual(['response.failed']);
});
