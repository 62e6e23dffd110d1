import { z } from 'zod';
import { ServingError } from '../../errors.ts';
import type { GenerationRequest } from '../../generation.ts';
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

/** OpenAI's `tool_choice`, without `custom` tools. */
export const toolChoice = z.union([z.enum(['none', 'auto', 'required']), named, allowed]);
export type ToolChoice = z.output<typeof toolChoice>;

type Tool = { readonly function: { readonly name: string } };

/** The tools that the policy sees, and the calls that the answer is limited to. */
type ChosenTools = {
  readonly tools: readonly Tool[];
  readonly forcedCall?: NonNullable<GenerationRequest['forcedCall']>;
};

/** Names that a forced call may have: no character can be mistaken for a mark of the chat template. */
const PLAIN_NAME = /^[\w.-]{1,128}$/;

/** @throws ServingError INVALID_REQUEST if the choice names unknown tools */
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
  if (callable.length === 0) throw refusal("it requires a call, but 'tools' is empty");
  const names = callable.map((tool) => tool.function.name);
  const invalid = names.find((name) => !PLAIN_NAME.test(name));
  if (invalid !== undefined) {
    const shown = JSON.stringify(invalid.slice(0, 100));
    throw refusal(`the name of a forced tool must have 1 to 128 letters, digits, _, - or ., not ${shown}`);
  }
  return { tools, forcedCall: [...new Set(names)] };
}

function pick(tools: readonly Tool[], wanted: readonly Tool[]): readonly Tool[] {
  const names = wanted.map((tool) => tool.function.name);
  const known = new Set(tools.map((tool) => tool.function.name));
  const missing = names.find((name) => !known.has(name));
  if (missing !== undefined)
    throw refusal(`'tools' contains no tool ${JSON.stringify(missing.slice(0, 100))}`);
  const picked = new Set(names);
  return tools.filter((tool) => picked.has(tool.function.name));
}

const refusal = (detail: string): Error =>
  ServingError.INVALID_REQUEST({ param: 'tool_choice', detail: `Invalid 'tool_choice': ${detail}.` });
