import { expect, test } from 'vitest';
import { functionTools } from './function-tools.ts';

test('names are unique and valid in the chat API, and lead back to the listed tools', () => {
  const listed = ['a.b', 'a b', 'a_b_1', '', 'x'.repeat(80)].map((name, at) => ({ name, at }));
  const { tools, toolOf } = functionTools(listed);
  const names = tools.map((tool) => tool.function.name);
  expect(names).toEqual(['a_b', 'a_b_1', 'a_b_1_1', 'tool', 'x'.repeat(60)]);
  expect(names.map((name) => toolOf(name)!.at)).toEqual([0, 1, 2, 3, 4]);
  expect(toolOf('other')).toBeUndefined();
  expect(tools[0]!.function.parameters).toEqual({ type: 'object', properties: {} });
});
