import type { Omissions } from '../chat/omissions.ts';
import { ServingError } from '../errors.ts';
import { allowedTools, functionTool, namedTool, namespaceTool, readPart, type Tool } from './fields.ts';

/** How a function that stands in a namespace is told of, by its name in the chat. */
export type Namespaces = ReadonlyMap<string, { readonly namespace: string; readonly name: string }>;

type Called = { readonly name: string; readonly namespace?: string | null | undefined };

/** A chat has no namespaces: the name says it. */
export const chatName = ({ name, namespace }: Called): string =>
  namespace == null || namespace === '' ? name : `${namespace}__${name}`;

/** The names that a client calls a function by, of the one in the chat. */
export const calledAs = (namespaces: Namespaces, name: string): Called => namespaces.get(name) ?? { name };

/** The functions of a request as tools of a chat. @throws ServingError UNSUPPORTED_PARAMETER, INVALID_REQUEST */
export const chatTools = (tools: readonly Tool[], omissions: Omissions): readonly object[] =>
  tools.flatMap((tool, at) => chatToolsOf(tool, `tools[${at}]`, omissions));

function chatToolsOf(tool: Tool, at: string, omissions: Omissions, namespace?: string): readonly object[] {
  switch (tool.type) {
    case 'function': {
      const { name, description, parameters, strict } = readPart(functionTool, tool, at);
      const more = Object.entries({ description, parameters, strict }).filter(([, value]) => value != null);
      const told = { name: chatName({ name, namespace }), ...Object.fromEntries(more) };
      return [{ type: 'function', function: told }];
    }
    case 'namespace': {
      const { name, tools } = readPart(namespaceTool, tool, at);
      return tools.flatMap((one, index) => chatToolsOf(one, `${at}.tools[${index}]`, omissions, name));
    }
    case 'custom':
    case 'local_shell':
    case 'shell':
    case 'apply_patch':
    case 'computer':
    case 'computer_use_preview': {
      const detail = `the client runs ${tool.type}, but a policy calls functions alone.`;
      throw ServingError.UNSUPPORTED_PARAMETER({ param: `${at}.type`, detail });
    }
    default:
      omissions.tool(at, tool.type);
      return [];
  }
}

/** Those that the policy can be told of, as they came. */
export const keptTools = (tools: readonly Tool[]): readonly Tool[] =>
  tools.filter(({ type }) => type === 'function' || type === 'namespace');

/** Of tools that were found sound. */
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

/** What a choice of tools is in a chat. @throws ServingError INVALID_REQUEST */
export function chatToolChoice(choice: string | Tool, omissions: Omissions): string | object {
  if (typeof choice === 'string') return choice;
  const named = (called: Called) => ({ type: 'function', function: { name: chatName(called) } });
  switch (choice.type) {
    case 'function':
      return named(readPart(namedTool, choice, 'tool_choice'));
    case 'allowed_tools': {
      const { mode, tools } = readPart(allowedTools, choice, 'tool_choice');
      const own = tools.flatMap((tool, at) => {
        const param = `tool_choice.tools[${at}]`;
        if (tool.type === 'function') return [named(readPart(namedTool, tool, param))];
        omissions.tool(param, tool.type);
        return [];
      });
      if (own.length === 0) throw refusal('none of its tools is a function');
      return { type: 'allowed_tools', allowed_tools: { mode, tools: own } };
    }
    default:
      throw refusal(
        `a tool of type ${choice.type.slice(0, 40)} is none of the client's own functions, and no server runs it here`,
      );
  }
}

const refusal = (detail: string): Error =>
  ServingError.INVALID_REQUEST({ param: 'tool_choice', detail: `Invalid 'tool_choice': ${detail}.` });
