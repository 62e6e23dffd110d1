import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isServiceError } from '../../../shared/runtime/errors.ts';
import { chatBody as ofMessages } from './messages/chat-body.ts';
import { messagesBody } from './messages/fields.ts';
import { createOmissions, type Omissions } from './request/omissions.ts';
import { parseChatRequest } from './request/parse-chat-request.ts';
import { chatBody as ofResponses } from './responses/chat-body.ts';
import { readResponsesBody, responsesBody } from './responses/fields.ts';
import { functionTools, namespacesOf } from './responses/tools.ts';

// Whatever JSON comes by one of the other APIs is read, or refused as the client's own fault.

const types = [
  'text',
  'input_text',
  'image',
  'input_image',
  'image_url',
  'refusal',
  'message',
  'reasoning',
  'function',
  'function_call',
  'function_call_output',
  'namespace',
  'custom',
  'web_search',
  'mcp',
  'tool_use',
  'tool_result',
  'thinking',
  'tool',
  'any',
  'auto',
  'none',
  'allowed_tools',
  'bash_20250124',
  'document',
  'content',
  'base64',
  'search_result',
  'server_tool_use',
  'web_search_tool_result',
  'tool_reference',
  'compaction',
  'web_search_call',
  'custom_tool_call',
  'custom_tool_call_output',
  'input_file',
];
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1, '', 'hi', 'look', 'auto', [], {}, '\uD800'),
  fc.string({ maxLength: 8 }),
  fc.integer(),
);
const names = [
  'type',
  'role',
  'content',
  'text',
  'name',
  'namespace',
  'arguments',
  'call_id',
  'id',
  'output',
  'tools',
  'tool_use_id',
  'input',
  'input_schema',
  'parameters',
  'description',
  'strict',
  'mode',
  'thinking',
  'source',
  'data',
];
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'medium' },
    leaf,
    fc.constantFrom(...types, 'user', 'assistant', 'system', 'developer', 'function'),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 6 }),
    fc
      .tuple(
        fc.constantFrom(...types),
        fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 5 }),
      )
      .map(([type, more]) => ({ ...more, type })),
  ),
}));
const bodyOf = (fields: readonly string[], sound: object) =>
  fc
    .dictionary(fc.constantFrom(...fields, 'unknown_field', 'toString'), value, { maxKeys: 4 })
    .map((more): object => ({ ...sound, ...more }));

test.each<readonly [string, fc.Arbitrary<object>, (body: object, omissions: Omissions) => object]>([
  [
    'Messages',
    bodyOf(Object.keys(messagesBody.shape), {
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: 'hi' }],
    }),
    ofMessages,
  ],
  [
    'Responses',
    bodyOf(Object.keys(responsesBody.shape), { model: 'm', input: 'hi' }),
    (body, omissions) => {
      const read = readResponsesBody(body, omissions);
      const chat = ofResponses(read, [], omissions);
      namespacesOf(functionTools(read.tools ?? []));
      return chat;
    },
  ],
])('%s', (_api, bodies, read) => {
  let sound = 0;
  fc.assert(
    fc.property(bodies, (body) => {
      const omissions = createOmissions();
      try {
        const { ignored } = parseChatRequest(read(body, omissions), { omissions });
        sound += 1;
        expect(ignored.every(({ name }) => name !== '')).toBe(true);
      } catch (error) {
        if (!isServiceError(error)) throw error;
        expect(error.status).toBe(400);
      }
    }),
    { seed: 7, numRuns: 10_000 },
  );
  expect(sound).toBeGreaterThan(500);
});
