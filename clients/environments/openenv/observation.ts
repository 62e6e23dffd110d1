import { isObject } from '../../../shared/lang/json.ts';
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

const parametersOf = ({ input_schema: schema }: ListedTool): object =>
  isObject(schema) ? schema : { type: 'object', properties: {} };

/** Tools with names that OpenAI's API accepts, and the name of each at the server. */
export function namedTools(listed: readonly ListedTool[]) {
  const byName = new Map<string, ListedTool>();
  for (const tool of listed) {
    const plain = tool.name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
    const name = byName.has(plain) ? `${plain}_${byName.size}` : plain;
    byName.set(name, tool);
  }
  const tools = [...byName].map(([name, tool]) => ({
    type: 'function' as const,
    function: { name, description: tool.description ?? '', parameters: parametersOf(tool) },
  }));
  return { tools, serverNameOf: (name: string) => byName.get(name)?.name };
}
