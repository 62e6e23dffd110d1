import { z } from 'zod';
import type { GenerationRequest } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import { MOST_TOOLS } from './request-bounds.ts';

const named = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1) }),
});
const allowed = z.looseObject({
  type: z.literal('allowed_tools'),
  allowed_tools: z.looseObject({
    mode: z.enum(['auto', 'required']),
    tools: z.array(named).min(1).max(MOST_TOOLS),
  }),
});

/** `tool_choice`, as OpenAI's API has it; `custom` tools there are none. */
export const toolChoice = z.union([z.enum(['none', 'auto', 'required']), named, allowed]);
export type ToolChoice = z.output<typeof toolChoice>;

type Tool = { readonly function: { readonly name: string } };

/** The tools that the policy is told of, and the call that the answer has to be. */
export type ChosenTools = {
  readonly tools: readonly Tool[];
  readonly forcedCall?: NonNullable<GenerationRequest['forcedCall']>;
};

/** Names that a call can be forced of: nothing in them can pose as a mark of the template. */
const PLAIN_NAME = /^[\w.-]{1,128}$/;

/** @throws ServingError INVALID_REQUEST for a choice of tools that there are not */
export function chooseTools(tools: readonly Tool[], choice: ToolChoice | null | undefined): ChosenTools {
  switch (choice) {
    case undefined:
    case null:
    case 'auto':
      return { tools };
    case 'none':
      return { tools: [] };
    case 'required':
      return forced(tools, tools);
  }
  if (choice.type === 'function') return forced(tools, pick(tools, [choice]));
  const picked = pick(tools, choice.allowed_tools.tools);
  return choice.allowed_tools.mode === 'auto' ? { tools: picked } : forced(picked, picked);
}

function forced(tools: readonly Tool[], callable: readonly Tool[]): ChosenTools {
  if (callable.length === 0) throw refusal("it asks for a call, and there are no 'tools'");
  const names = callable.map((tool) => tool.function.name);
  const odd = names.find((name) => !PLAIN_NAME.test(name));
  if (odd !== undefined) {
    const shown = JSON.stringify(odd.slice(0, 100));
    throw refusal(
      `a tool that is to be called has a name of 1 to 128 letters, digits, _, - and ., not ${shown}`,
    );
  }
  return { tools, forcedCall: [...new Set(names)] };
}

function pick(tools: readonly Tool[], wanted: readonly Tool[]): readonly Tool[] {
  const names = wanted.map((tool) => tool.function.name);
  const known = new Set(tools.map((tool) => tool.function.name));
  const missing = names.find((name) => !known.has(name));
  if (missing !== undefined)
    throw refusal(`there is no tool ${JSON.stringify(missing.slice(0, 100))} in 'tools'`);
  const picked = new Set(names);
  return tools.filter((tool) => picked.has(tool.function.name));
}

const refusal = (detail: string): Error =>
  ServingError.INVALID_REQUEST({ param: 'tool_choice', detail: `Invalid 'tool_choice': ${detail}.` });
