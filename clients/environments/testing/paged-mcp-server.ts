// An MCP server on standard input and output whose list of tools has two pages. It prints a greeting before its first
// message. `echo` repeats its text, `broken` answers with an error that is not about its arguments, `die` ends the
// process.
import { createInterface } from 'node:readline';

type Params = {
  readonly protocolVersion?: string;
  readonly cursor?: string;
  readonly name?: string;
  readonly arguments?: { readonly text?: unknown };
};

const tool = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } });
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

function answerTo(method: string, { protocolVersion, cursor, name, arguments: given }: Params): object {
  if (method === 'initialize')
    return {
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'paged', version: '1' } },
    };
  if (method === 'tools/list')
    return {
      result:
        cursor === 'two'
          ? { tools: [tool('broken'), tool('die')] }
          : { tools: [tool('echo')], nextCursor: 'two' },
    };
  if (method !== 'tools/call') return { error: { code: -32601, message: 'unknown method' } };
  if (name === 'die') process.exit(3);
  if (name === 'broken') return { error: { code: -32603, message: 'the disk is full' } };
  return typeof given?.text === 'string'
    ? { result: text(given.text) }
    : { error: { code: -32602, message: 'text is missing' } };
}

console.log('paged server, ready');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line) as { id?: number; method: string; params?: Params };
  if (id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answerTo(method, params) })}\n`);
}
