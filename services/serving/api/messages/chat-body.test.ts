import { expect, test } from 'vitest';
import { createOmissions } from '../request/omissions.ts';
import { parseChatRequest } from '../request/parse-chat-request.ts';
import { countedChatBody, chatBody as readChatBody } from './chat-body.ts';

const chatBody = (body: object) => readChatBody(body, createOmissions());

const ask = { model: 'm', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] };
const chat = (more: object) => {
  const omissions = createOmissions();
  return parseChatRequest(readChatBody({ ...ask, ...more }, omissions), { omissions });
};
const messages = (...list: object[]) => chat({ messages: list }).generation.messages;
const part = (text: string) => ({ type: 'text', text });
const tool = { name: 'exec', input_schema: { type: 'object' } };

test('results become separate messages, and text keeps its position', () => {
  const translated = messages({
    role: 'user',
    content: [
      { type: 'text', text: 'before' },
      { type: 'tool_result', tool_use_id: 'a', content: 'one', is_error: true },
      { type: 'tool_result', tool_use_id: 'b' },
      { type: 'text', text: 'after', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: '!' },
    ],
  });
  expect(translated).toEqual([
    { role: 'user', content: [part('before')] },
    { role: 'tool', tool_call_id: 'a', content: 'one', is_error: true },
    { role: 'tool', tool_call_id: 'b', content: '' },
    { role: 'user', content: [part('after'), part('!')] },
  ]);
});

test('a returned answer becomes one message, as recorded', () => {
  const answers = [
    [
      { type: 'thinking', thinking: 'Hm.', signature: 'x' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'Look' },
      { type: 'tool_use', id: 'a', name: 'exec', input: { cmd: 'ls' } },
      { type: 'text', text: 'ing' },
    ],
    [{ type: 'tool_use', id: 'b', name: 'exec', input: {} }],
    [],
    'plain',
  ];
  const [first, , second, , third, , fourth] = messages(
    ...answers.flatMap((content) => [
      { role: 'assistant', content },
      { role: 'user', content: 'on' },
    ]),
  );
  const call = (id: string, given: string) => ({
    id,
    type: 'function',
    function: { name: 'exec', arguments: given },
  });
  expect(first).toEqual({
    role: 'assistant',
    content: 'Looking',
    reasoning_content: 'Hm.',
    tool_calls: [call('a', '{"cmd":"ls"}')],
  });
  expect(second).toEqual({ role: 'assistant', content: null, tool_calls: [call('b', '{}')] });
  expect(third).toEqual({ role: 'assistant', content: '' });
  expect(fourth).toEqual({ role: 'assistant', content: 'plain' });
});

test('the fields have the same meaning as in a chat', () => {
  const request = chat({
    system: 'Be kind.',
    stream: true,
    temperature: 0.3,
    top_p: 0.9,
    top_k: 0,
    stop_sequences: ['a', 'b'],
    tools: [tool, { ...tool, type: 'custom', description: 'Runs' }],

    thinking: { type: 'disabled' },
    service_tier: 'auto',
    speed: null,
    output_config: { effort: 'low' },
  });
  expect(request).toMatchObject({
    model: 'm',
    stream: true,
    generation: {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
      ],
      templateVariables: { enable_thinking: false },
      sampling: { temperature: 0.3, topP: 0.9, topK: 0, maxTokens: 5, stop: ['a', 'b'] },
      tools: [
        { type: 'function', function: { name: 'exec', parameters: { type: 'object' } } },
        { type: 'function', function: { name: 'exec', description: 'Runs' } },
      ],
    },
  });
  expect(chat({ tools: [tool], tool_choice: { type: 'none' } }).generation.tools).toEqual([]);
  expect(chat({ system: '' }).generation.messages).toEqual(ask.messages);
});

test('the tool choice becomes that of a chat', () => {
  const choiceOf = (choice: object) => chatBody({ ...ask, tools: [tool], tool_choice: choice });
  expect(choiceOf({ type: 'any' })).toMatchObject({ tool_choice: 'required' });
  expect(choiceOf({ type: 'auto', disable_parallel_tool_use: true })).toMatchObject({
    tool_choice: 'auto',
    parallel_tool_calls: false,
  });
  expect(choiceOf({ type: 'tool', name: 'exec' })).toMatchObject({
    tool_choice: { type: 'function', function: { name: 'exec' } },
  });
});

test('counting tokens does not require max_tokens', () => {
  const { max_tokens: _, ...counted } = ask;
  expect(() => chatBody(counted)).toThrow('max_tokens');
  expect(parseChatRequest(countedChatBody(counted, createOmissions())).generation.messages).toEqual(
    ask.messages,
  );
});

test('a history that ends with an answer is counted, but not continued', () => {
  const answered = { ...ask, messages: [...ask.messages, { role: 'assistant', content: 'Well,' }] };
  expect(() => chatBody(answered)).toThrow('messages.1');
  const counted = parseChatRequest(countedChatBody(answered, createOmissions()));
  expect(counted.generation.messages).toEqual(answered.messages);
});

test('output_format is read as output_config.format, which takes precedence', () => {
  const formatOf = (type: string) => ({ type: 'json_schema', schema: { type } });
  const schemaIn = (more: object) => chat(more).generation.format;
  const older = { output_format: formatOf('object') };
  expect(schemaIn(older)).toMatchObject({ kind: 'schema', schema: { type: 'object' } });
  expect(chat(older).ignored).toEqual([]);
  expect(schemaIn({ ...older, output_config: { effort: 'low' } })).toMatchObject({
    schema: { type: 'object' },
  });
  const newer = { output_config: { format: formatOf('array') } };
  expect(schemaIn({ ...older, ...newer })).toMatchObject({ schema: { type: 'array' } });
  expect(schemaIn({ output_format: null })).toBeUndefined();
  expect(() => chat({ output_format: { type: 'json_schema' } })).toThrow('output_format.schema');
});

const question = part('why?');
const file = (source: object) => ({ type: 'document', title: 'Notes', source });

test('the text of a document or search result is read, and other documents become the same text in each request', () => {
  const found = { type: 'search_result', source: 'x', title: 'X', content: [part('one'), part('two')] };
  const { generation, ignored } = chat({
    messages: [
      {
        role: 'user',
        content: [
          file({ type: 'text', media_type: 'text/plain', data: 'Once.' }),
          file({ type: 'content', content: [part('Twice'), { type: 'image', source: {} }] }),
          file({ type: 'content', content: 'Thrice' }),
          file({ type: 'base64', media_type: 'application/pdf', data: 'AAAA' }),
          file({ type: 'url', url: 'http://x' }),
          file({ type: 'file', file_id: 'f' }),
          { type: 'container_upload', file_id: 'f' },
          question,
        ],
      },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'exec', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [found] }] },
    ],
  });
  expect(generation.messages[0]!.content).toEqual([
    part('<document>\nNotes\nOnce.\n</document>\n'),
    part('<document>\nNotes\nTwice\n[image]\n</document>\n'),
    part('<document>\nNotes\nThrice\n</document>\n'),
    ...Array.from({ length: 4 }, () => part('[document]')),
    question,
  ]);
  expect(generation.messages[2]!.content).toEqual([
    part('<search_result>\nX\nx\none\ntwo\n</search_result>\n'),
  ]);
  expect(ignored.map(({ name }) => name)).toEqual([
    'messages.0.content.1.source.content.1: image',
    'messages.0.content.3: document',
    'messages.0.content.4: document',
    'messages.0.content.5: document',
    'messages.0.content.6: container_upload',
  ]);
});

test('what tools of a server did is left out and named; a message of nothing else keeps a placeholder', () => {
  const search = [
    { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
  ];
  const reference = { type: 'tool_reference', tool_name: 'exec' };
  const summary = { type: 'compaction', content: 'Earlier.' };
  const call = { type: 'tool_use', id: 'a', name: 'exec', input: {} };
  const { generation, ignored } = chat({
    messages: [
      ...ask.messages,
      { role: 'assistant', content: [part('I look. '), ...search, part('Found.')] },
      { role: 'user', content: [reference] },
      { role: 'assistant', content: search },
      { role: 'user', content: [reference, question] },
      { role: 'assistant', content: [...search, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [reference] }] },
      { role: 'assistant', content: [summary, { type: 'compaction', content: null }] },
      { role: 'user', content: [question] },
    ],
  });
  expect(generation.messages.map(({ content }) => content)).toEqual([
    'hi',
    'I look. Found.',
    [part('[tool]')],
    '[tool]',
    [question],
    null,
    [part('[tool]')],
    'Earlier.',
    [question],
  ]);
  expect(ignored[0]).toEqual({ kind: 'tool', name: 'messages.1.content.1: server_tool_use' });
  expect(ignored.map(({ name }) => name.split(' ')[1])).toEqual([
    ...['server_tool_use', 'web_search_tool_result', 'tool_reference'],
    ...['server_tool_use', 'web_search_tool_result', 'tool_reference'],
    ...['server_tool_use', 'web_search_tool_result', 'tool_reference'],
    'compaction',
  ]);
});

test('blocks that make no sense are refused by their place', () => {
  for (const [block, place] of [
    [{ type: 'video' }, 'messages.0.content.0'],
    [{ type: '_tool_result ' }, 'messages.0.content.0'],
    [{ type: 'document' }, 'messages.0.content.0'],
    [file({ type: 'text' }), 'messages.0.content.0.source'],
    [file({ type: 'tape' }), 'messages.0.content.0.source'],
    [file({ type: 'content', content: [null] }), 'messages.0.content.0.source.content'],
    [file({ type: 'content', content: [file({ type: 'file' })] }), 'messages.0.content.0.source.content.0'],
    [{ type: 'search_result' }, 'messages.0.content.0.content'],
  ] as const)
    expect(() => messages({ role: 'user', content: [block] })).toThrow(
      expect.objectContaining({ status: 400, param: place }),
    );
});
