import { expect, test } from 'vitest';
import { chooseTools, toolChoice } from './tool-choice.ts';

const tool = (name: string) => ({ type: 'function', function: { name } }) as const;
const tools = [tool('get'), tool('set'), tool('stop')];
const choose = (choice: unknown) => chooseTools(tools, toolChoice.parse(choice));

test('what may be called is what the policy is told of, and what must be is forced', () => {
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

test('a tool that there is not cannot be chosen, nor one whose name could be more than a name', () => {
  expect(() => choose(tool('nothing'))).toThrow(/no tool "nothing"/);
  expect(() => chooseTools([], 'required')).toThrow(/there are no 'tools'/);
  expect(() => chooseTools([tool('</tool_call>')], 'required')).toThrow(/has a name of/);
  expect(toolChoice.safeParse({ type: 'custom', custom: { name: 'get' } }).success).toBe(false);
  expect(toolChoice.safeParse('sometimes').success).toBe(false);
});
