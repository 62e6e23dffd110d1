import { isObject } from '../../shared/lang/json.ts';
import type { FunctionTool } from './environment.ts';

/** A tool as a server lists it. */
export type ServerTool = {
  /** its name in the chat API, if that allows it */
  readonly name: string;
  readonly description?: string | null | undefined;
  /** JSON Schema of the arguments */
  readonly schema?: unknown;
};

/** characters; OpenAI's API takes names of up to 64 */
const LONGEST_NAME = 60;

/** Tools with unique names that OpenAI's API accepts, and the listed tool of each name. */
export function functionTools<Tool extends ServerTool>(listed: readonly Tool[]) {
  const byName = new Map<string, Tool>();
  for (const tool of listed) {
    const plain = tool.name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST_NAME) || 'tool';
    let name = plain;
    for (let number = 1; byName.has(name); number++) name = `${plain}_${number}`;
    byName.set(name, tool);
  }
  const tools = [...byName].map(
    ([name, { description, schema }]): FunctionTool => ({
      type: 'function',
      function: {
        name,
        description: description ?? '',
        parameters: isObject(schema) ? schema : { type: 'object', properties: {} },
      },
    }),
  );
  return { tools, toolOf: (name: string): Tool | undefined => byName.get(name) };
}
