import { expect, test } from 'vitest';
import { actionFormOf, namedTools, textOfObservation, textOfToolResult } from './observation.ts';
import { Schemas } from './wire.ts';

test('an observation is its only text, or JSON', () => {
  expect(textOfObservation({ prompt: 'Find the lamp.', metadata: {}, done: false, reward: null })).toBe(
    'Find the lamp.',
  );
  expect(textOfObservation({ board: ['x', 'o'], legal: [1] })).toBe('{"board":["x","o"],"legal":[1]}');
  expect(textOfObservation({ count: 3 })).toBe('{"count":3}');
  expect(textOfObservation({ metadata: { step: 1 }, prompt: '' })).toBe('');
});

test('the result of a tool is a value, a result of MCP, or an error', () => {
  expect(textOfToolResult({ tool_name: 'add', result: 5 })).toEqual({ text: '5', isError: false });
  expect(textOfToolResult({ tool_name: 'add', result: 'five' })).toEqual({ text: 'five', isError: false });
  const content = [{ type: 'text', text: 'one' }, { type: 'image' }, { type: 'text', text: 'two' }];
  expect(textOfToolResult({ result: { content, is_error: true } })).toEqual({
    text: 'one\n[image]\ntwo',
    isError: true,
  });
  const error = { error_type: 'tool_not_found', message: 'no such tool' };
  expect(textOfToolResult({ tool_name: 'x', result: null, error })).toEqual({
    text: 'no such tool',
    isError: true,
  });
  expect(textOfToolResult({ result: null })).toEqual({ text: 'null', isError: false });
});

const formOf = (action: object) => actionFormOf(Schemas.parse({ action }).action);

test('the schema decides how an environment takes actions', () => {
  expect(formOf({ title: 'CallToolAction', type: 'object' })).toEqual({ kind: 'tools' });
  const metadata = { type: 'object' };
  const text = { properties: { metadata, message: { type: 'string' } }, required: ['message'] };
  expect(formOf({ title: 'EchoAction', ...text })).toEqual({ kind: 'text', member: 'message' });
  const move = { properties: { metadata, row: { type: 'integer' } }, required: ['row'] };
  expect(formOf({ title: 'Move', ...move })).toMatchObject({
    kind: 'structured',
    parameters: { properties: { row: { type: 'integer' } }, required: ['row'] },
  });
});

test('tools get names that the chat API accepts, and keep their own at the server', () => {
  const { tools, serverNameOf } = namedTools([
    { name: 'files.read', input_schema: { type: 'object', required: ['path'] } },
    { name: 'files_read' },
  ]);
  const names = tools.map((tool) => tool.function.name);
  expect(names).toEqual(['files_read', 'files_read_1']);
  expect(names.map(serverNameOf)).toEqual(['files.read', 'files_read']);
  expect(tools[0]!.function.parameters).toEqual({ type: 'object', required: ['path'] });
  expect(serverNameOf('other')).toBeUndefined();
});
