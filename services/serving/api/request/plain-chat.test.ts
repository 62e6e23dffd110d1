import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseChatRequest } from './parse-chat-request.ts';
import { arePlainMessages, arePlainTools } from './plain-chat.ts';
import { chatRequestSchema } from './request-fields.ts';

const odd = fc.constantFrom<unknown>(undefined, null, 1, '', 'text', [], {}, [null], [1], [{}]);
const call = fc.record(
  {
    id: fc.oneof(fc.constant('call_1'), odd),
    type: fc.oneof(fc.constant('function'), odd),
    function: fc.oneof(
      { weight: 4, arbitrary: fc.record({ name: fc.constant('f'), arguments: fc.constant('{}') }) },
      { weight: 1, arbitrary: fc.record({ name: odd, arguments: odd }) },
      { weight: 1, arbitrary: odd },
    ),
    index: odd,
  },
  { requiredKeys: ['function'] },
);
const part = fc.record(
  {
    type: fc.constantFrom<unknown>('text', 'text', 'refusal', 'image_url', 1),
    text: fc.oneof(fc.constant('hi'), odd),
  },
  { requiredKeys: ['type'] },
);
const message = fc.record(
  {
    role: fc.constantFrom<unknown>('system', 'user', 'assistant', 'assistant', 'tool', 'nobody', null),
    content: fc.oneof(fc.constant('hi'), fc.array(part, { maxLength: 2 }), odd),
    tool_calls: fc.oneof(fc.array(call, { maxLength: 2 }), odd),
    name: fc.oneof(fc.constant('n'), odd),
    tool_call_id: fc.oneof(fc.constant('c'), odd),
    reasoning_content: odd,
    function_call: odd,
    audio: odd,
    mine: odd,
  },
  { requiredKeys: ['role'] },
);
const tool = fc.record(
  {
    type: fc.constantFrom<unknown>('function', 'function', 'custom', null),
    function: fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ name: fc.constantFrom('f', ''), parameters: odd }, { requiredKeys: ['name'] }),
      },
      { weight: 1, arbitrary: odd },
    ),
    strict: odd,
  },
  { requiredKeys: ['type'] },
);

test('plain messages and tools pass the schema unchanged', () => {
  let plain = 0;
  fc.assert(
    fc.property(fc.array(message, { maxLength: 2 }), (messages) => {
      if (!arePlainMessages(messages)) return;
      plain += 1;
      // of messages among which one is not plain, though sound, the schema looks at each
      const sound = { role: 'user', content: 'hi', name: null };
      const [quick, slow] = [messages, [...messages, sound]].map(
        (messages) => parseChatRequest({ model: 'm', messages: messages }).generation.messages,
      );
      expect(quick).toBe(messages);
      expect(slow!.slice(0, -1)).toEqual(messages);
    }),
    { seed: 1, numRuns: 3_000 },
  );
  fc.assert(
    fc.property(fc.oneof(odd, fc.array(tool, { maxLength: 2 })), (tools) => {
      if (!arePlainTools(tools)) return;
      plain += 1;
      expect(chatRequestSchema.shape.tools.safeParse(tools).success).toBe(true);
    }),
    { seed: 1, numRuns: 1_000 },
  );
  expect(plain).toBeGreaterThan(300);
});

test('requests of agents are plain', () => {
  const agents = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    {
      role: 'assistant',
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: '' },
    { role: 'assistant', content: 'done', reasoning_content: 'so', refusal: 'no' },
  ];
  expect(arePlainMessages(agents)).toBe(true);
  expect(arePlainTools([{ type: 'function', function: { name: 'f', parameters: {}, strict: true } }])).toBe(
    true,
  );
  expect(
    [[], undefined, {}, [{ role: 'user' }], [{ role: 'user', content: 'hi', name: null }]].map(
      arePlainMessages,
    ),
  ).toEqual(Array(5).fill(false));
});
