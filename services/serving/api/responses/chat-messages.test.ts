import { expect, test } from 'vitest';
import type { ChatMessage } from '../../../../shared/events/chat-message.ts';
import { createOmissions } from '../request/omissions.ts';
import { parseChatRequest } from '../request/parse-chat-request.ts';
import { chatBody } from './chat-body.ts';
import { withoutInstructions } from './chat-messages.ts';
import { readResponsesBody } from './fields.ts';

const chatOf = (body: object, before: readonly ChatMessage[] = [], omissions = createOmissions()) =>
  chatBody(readResponsesBody(body, omissions), before, omissions);
const chat = (more: object, before: readonly ChatMessage[] = []) => {
  const omissions = createOmissions();
  return parseChatRequest(chatOf({ model: 'm', input: 'hi', ...more }, before, omissions), { omissions });
};
const hi = { role: 'user', content: 'hi' };

test('reasoning, text and calls of one answer become one message', () => {
  const call = { type: 'function_call', call_id: 'a', name: 'exec', arguments: '{}' };
  const input = [
    hi,
    { type: 'reasoning', id: 'rs', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Look', annotations: [] }] },
    call,
    { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'x' }] },
    call,
    { type: 'function_call_output', call_id: 'a', output: 'y' },
    { role: 'developer', content: 'be brief' },
    { role: 'assistant', content: 'Done' },
  ];
  const calls = { tool_calls: [{ id: 'a', type: 'function', function: { name: 'exec', arguments: '{}' } }] };
  expect(chat({ input }).generation.messages).toEqual([
    hi,
    { role: 'assistant', content: 'Look', reasoning_content: 'Hm.', ...calls },
    { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'x' }] },
    { role: 'assistant', content: null, ...calls },
    { role: 'tool', tool_call_id: 'a', content: 'y' },
    { role: 'developer', content: 'be brief' },
    { role: 'assistant', content: 'Done' },
  ]);
});

test('instructions apply to one request, system messages to the conversation', () => {
  const system = { role: 'system', content: 'Stay.' };
  const { messages } = chat({ instructions: 'Go.', input: [system, hi] }).generation;
  expect(messages).toMatchObject([{ role: 'system', content: 'Go.' }, system, hi]);
  const kept = withoutInstructions(messages);
  expect(kept).toEqual([system, hi]);
  const next = chat({ instructions: 'Other.' }, [...kept, { role: 'assistant', content: 'yes' }]);
  expect(next.generation.messages).toMatchObject([
    { content: 'Other.' },
    system,
    hi,
    { role: 'assistant', content: 'yes' },
    hi,
  ]);
});

test('the fields have the same meaning as in a chat', () => {
  const named = { type: 'function', name: 'exec' };
  const request = { max_output_tokens: 9, temperature: 0.5, top_p: 0.9, stream: true, tools: [named] };
  expect(chat(request)).toMatchObject({
    model: 'm',
    stream: true,
    generation: {
      sampling: { maxTokens: 9, temperature: 0.5, topP: 0.9 },
      tools: [{ type: 'function', function: { name: 'exec' } }],
    },
  });
  const choiceOf = (choice: unknown) => chatOf({ model: 'm', input: 'hi', tool_choice: choice });
  expect(choiceOf('required')).toMatchObject({ tool_choice: 'required' });
  const called = { type: 'function', function: { name: 'exec' } };
  expect(choiceOf(named)).toMatchObject({ tool_choice: called });
  expect(choiceOf({ type: 'allowed_tools', mode: 'auto', tools: [named] })).toMatchObject({
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [called] } },
  });
});

test('the reasoning effort none switches reasoning off; other efforts and omission leave it to the template', () => {
  const variables = (reasoning: unknown) => chat({ reasoning }).generation.templateVariables;
  expect(variables({ effort: 'none' })).toEqual({ enable_thinking: false });
  for (const other of [{ effort: 'low', summary: 'auto' }, { effort: null }, {}, 'low', null, undefined])
    expect(variables(other)).toEqual({});
});

const question = { role: 'user', content: 'why?' };

test('items of other tools are left out and named; an answer of nothing else keeps a placeholder', () => {
  const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' };
  const { generation, ignored } = chat({
    input: [
      { type: 'compaction', encrypted_content: 'x' },
      hi,
      search,
      { role: 'assistant', content: 'Found.' },
      question,
      search,
      question,
      { type: 'local_shell_call', call_id: 'l', action: {} },
      { type: 'local_shell_call_output', call_id: 'l', output: 'x' },
      { role: 'assistant', content: 'Done.' },
      question,
    ],
  });
  const answer = (content: string) => ({ role: 'assistant', content });
  expect(generation.messages).toEqual([
    hi,
    answer('Found.'),
    question,
    answer('[tool]'),
    question,
    answer('Done.'),
    question,
  ]);
  expect(ignored[0]).toEqual({ kind: 'tool', name: 'input[0]: compaction' });
  expect(ignored.map(({ name }) => name)).toEqual([
    'input[0]: compaction',
    'input[2]: web_search_call',
    'input[5]: web_search_call',
    'input[7]: local_shell_call',
    'input[8]: local_shell_call_output',
  ]);
});

test('a call of a custom tool is read as a call of a function', () => {
  const { generation, ignored } = chat({
    input: [
      hi,
      { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '*** "x"' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'ok' },
    ],
  });
  const called = { name: 'patch', arguments: '{"input":"*** \\"x\\""}' };
  expect(generation.messages.slice(1)).toEqual([
    { role: 'assistant', content: null, tool_calls: [{ id: 'c', type: 'function', function: called }] },
    { role: 'tool', tool_call_id: 'c', content: 'ok' },
  ]);
  expect(ignored).toEqual([]);
});

test('a file becomes the same text in each request', () => {
  const content = [
    { type: 'input_file', file_id: 'x' },
    { type: 'input_text', text: 'why?' },
  ];
  const { generation, ignored } = chat({ input: [{ role: 'user', content }] });
  expect(generation.messages[0]!.content).toMatchObject([{ text: '[document]' }, { text: 'why?' }]);
  expect(ignored).toEqual([{ kind: 'image', name: 'input[0].content[0]: input_file' }]);
});

test('unknown items, and an input of nothing to read, are refused', () => {
  const refused = (param: string) => expect.objectContaining({ status: 400, param });
  expect(() => chat({ input: [hi, { type: 'video_call' }] })).toThrow(refused('input[1]'));
  expect(() => chat({ input: [{ type: 'compaction' }] })).toThrow(refused('input'));
  expect(() => chat({ input: [hi, { type: 'custom_tool_call', call_id: 'c', name: 'x' }] })).toThrow(
    refused('input[1].input'),
  );
});
