import { ServingError } from '../../errors.ts';
import type { Omissions } from '../request/omissions.ts';
import { allowedTools, functionTool, namedTool, namespaceTool, readPart, type Tool } from './fields.ts';

/** Functions in namespaces, by their chat names. */
export type Namespaces = ReadonlyMap<string, { readonly namespace: string; readonly name: string }>;

type Called = { readonly name: string; readonly namespace?: string | null | undefined };

/** Name of a function in the chat, which has no namespaces. */
export const chatName = ({ name, namespace }: Called): string =>
  namespace == null || namespace === '' ? name : `${namespace}__${name}`;

/** The client's names of a function, from its chat name. */
export const clientNames = (namespaces: Namespaces, name: string): Called => namespaces.get(name) ?? { name };

/** Translates the functions of a request to chat tools. @throws ServingError UNSUPPORTED_PARAMETER, INVALID_REQUEST */
export const chatTools = (tools: readonly Tool[], omissions: Omissions): readonly object[] =>
  tools.flatMap((tool, at) => chatToolsOf(tool, `tools[${at}]`, omissions));

function chatToolsOf(tool: Tool, at: string, omissions: Omissions, namespace?: string): readonly object[] {
  switch (tool.type) {
    case 'function': {
      const { name, description, parameters, strict } = readPart(functionTool, tool, at);
      const optional = Object.entries({ description, parameters, strict }).filter(
        ([, value]) => value != null,
      );
      const spec = { name: chatName({ name, namespace }), ...Object.fromEntries(optional) };
      return [{ type: 'function', function: spec }];
    }
    case 'namespace': {
      const { name, tools } = readPart(namespaceTool, tool, at);
      return tools.flatMap((member, index) => chatToolsOf(member, `${at}.tools[${index}]`, omissions, name));
    }
    case 'custom':
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
    case 'computer':
    case 'computer_use_preview': {
      const detail = `tools of type ${tool.type} are not supported; the policy can call only functions.`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param: `${at}.type`, detail });
    }
    default:
      omissions.tool(at, tool.type);
      return [];
  }
}

/** The functions and namespaces, unchanged. */
export const functionTools = (tools: readonly Tool[]): readonly Tool[] =>
  tools.filter(({ type }) => type === 'function' || type === 'namespace');

/** @param tools valid tools */
export function namespacesOf(tools: readonly Tool[]): Namespaces {
  const named = tools.flatMap((tool) => {
    const parsed = namespaceTool.safeParse(tool);
    if (tool.type !== 'namespace' || !parsed.success) return [];
    const { name: namespace, tools: within } = parsed.data;
    return within.flatMap(({ name }) =>
      typeof name === 'string' ? [[chatName({ name, namespace }), { namespace, name }] as const] : [],
    );
  });
  return new Map(named);
}

/** Translates a tool choice to that of a chat. @throws ServingError INVALID_REQUEST */
export function chatToolChoice(choice: string | Tool, omissions: Omissions): string | object {
  if (typeof choice === 'string') return choice;
  const named = (called: Called) => ({ type: 'function', function: { name: chatName(called) } });
  switch (choice.type) {
    case 'function':
      return named(readPart(namedTool, choice, 'tool_choice'));
    case 'allowed_tools': {
      const { mode, tools } = readPart(allowedTools, choice, 'tool_choice');
      const functions = tools.flatMap((tool, at) => {
        const param = `tool_choice.tools[${at}]`;
        if (tool.type === 'function') return [named(readPart(namedTool, tool, param))];
        omissions.tool(param, tool.type);
        return [];
      });
      if (functions.length === 0) throw refusal('it allows no function');
      return { type: 'allowed_tools', allowed_tools: { mode, tools: functions } };
    }
    default:
      throw refusal(
        `a tool of type ${choice.type.slice(0, 40)} is not a function, and this server runs no tools`,
      );
  }
}

const refusal = (detail: string): Error =>
  ServingError.INVALID_REQUEST({ param: 'tool_choice', detail: `Invalid 'tool_choice': ${detail}.` });
