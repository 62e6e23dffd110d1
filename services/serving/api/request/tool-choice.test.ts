import { expect, test } from 'vitest';
import { chooseTools, toolChoice } from './tool-choice.ts';

const tool = (name: string) => ({ type: 'function', function: { name } }) as const;
const tools = [tool('get'), tool('set'), tool('stop')];
const choose = (choice: unknown) => chooseTools(tools, toolChoice.parse(choice));

test('the choice determines the visible tools and the forced calls', () => {
  expect(chooseTools(tools, null)).toEqual({ tools });
  expect(choose('auto')).toEqual({ tools });
  expect(choose('none')).toEqual({ tools: [] });
  expect(choose('required')).toEqual({ tools, forcedCall: ['get', 'set', 'stop'] });
  expect(choose(tool('set'))).toEqual({ tools, forcedCall: ['set'] });
  const some = { mode: 'auto', tools: [tool('stop'), tool('get')] };
  expect(choose({ type: 'allowed_tools', allowed_tools: some })).toEqual({ tools: [tools[0], tools[2]] });
  expect(choose({ type: 'allowed_tools', allowed_tools: { ...some, mode: 'required' } })).toEqual({
    tools: [tools[0], tools[2]],
    forcedCall: ['get', 'stop'],
  });
});

test('unknown tools and unsafe tool names are refused', () => {
  expect(() => choose(tool('nothing'))).toThrow(/no tool "nothing"/);
  expect(() => chooseTools([], 'required')).toThrow(/'tools' is empty/);
  expect(() => chooseTools([tool('</tool_call>')], 'required')).toThrow(/must have 1 to 128/);
  expect(toolChoice.safeParse({ type: 'custom', custom: { name: 'get' } }).success).toBe(false);
  expect(toolChoice.safeParse('sometimes').success).toBe(false);
});
