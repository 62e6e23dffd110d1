import { functionTools } from '../function-tools.ts';
import { type ListedTool, McpResult, type ObjectSchema, ToolObservation } from './wire.ts';

/** Members of an observation that describe the episode and not the scene. */
const bookkeeping = new Set(['metadata', 'done', 'reward']);

/** Action classes of environments whose actions are `list_tools` and `call_tool`. */
const toolActions = new Set(['CallToolAction', 'ListToolsAction', 'Action']);

/** An observation as text: its only text member, otherwise JSON. Empty if it shows nothing. */
export function textOfObservation(observation: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(observation).filter(
    ([name, value]) => !bookkeeping.has(name) && value !== null && value !== '',
  );
  if (shown.length === 0) return '';
  const [only] = shown;
  if (shown.length === 1 && typeof only![1] === 'string') return only![1];
  return JSON.stringify(Object.fromEntries(shown));
}

/** The result of a tool as text, and whether the tool failed. */
export function textOfToolResult(observation: Readonly<Record<string, unknown>>): {
  readonly text: string;
  readonly isError: boolean;
} {
  const { result, error } = ToolObservation.parse({ result: undefined, ...observation });
  if (error) return { text: error.message, isError: true };
  const mcp = McpResult.safeParse(result);
  if (mcp.success) {
    const text = mcp.data.content.map((part) => part.text ?? `[${part.type}]`).join('\n');
    return { text, isError: mcp.data.is_error ?? false };
  }
  if (typeof result === 'string') return { text: result, isError: false };
  return { text: JSON.stringify(result) ?? textOfObservation(observation), isError: false };
}

/** How an environment takes actions. */
export type ActionForm =
  | { readonly kind: 'tools' }
  /** the text of an answer, in this member of the action */
  | { readonly kind: 'text'; readonly member: string }
  /** one tool whose arguments are the action */
  | { readonly kind: 'structured'; readonly parameters: object };

export function actionFormOf(schema: ObjectSchema): ActionForm {
  if (toolActions.has(schema.title ?? '')) return { kind: 'tools' };
  const { metadata: _, ...properties } = schema.properties;
  const [only] = schema.required;
  if (schema.required.length === 1 && properties[only!]?.type === 'string')
    return { kind: 'text', member: only! };
  return { kind: 'structured', parameters: { ...schema, properties } };
}

/** Tools with names that OpenAI's API accepts, and the name of each at the server. */
export function namedTools(listed: readonly ListedTool[]) {
  const { tools, toolOf } = functionTools(listed.map((tool) => ({ ...tool, schema: tool.input_schema })));
  return { tools, serverNameOf: (name: string) => toolOf(name)?.name };
}
