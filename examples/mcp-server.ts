// Serves the tools of an example by MCP: on standard input and output, as agent programs start a server, or with
// `--port 8080` at http://127.0.0.1:8080/mcp, for all attempts of a rollout at once.
import { parseArgs } from 'node:util';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import Fastify from 'fastify';
import { z } from 'zod';

/** A tool that takes one text and answers with one. */
export type ExampleTool = {
  readonly name: string;
  readonly description: string;
  /** name of its argument */
  readonly argument: string;
  /** undefined: the tool has no answer */
  readonly answer: (text: string) => string | undefined;
};

type ServedTools = {
  /** name of the server */
  readonly name: string;
  readonly tools: readonly ExampleTool[];
  /** what a tool without an answer says */
  readonly refusal: string;
};

function createServer({ name: server, tools, refusal }: ServedTools): McpServer {
  const mcp = new McpServer({ name: server, version: '1' });
  for (const { name, description, argument, answer } of tools)
    mcp.registerTool(
      name,
      { description, inputSchema: z.object({ [argument]: z.string() }) },
      (given: Readonly<Record<string, string>>) => {
        const text = answer(given[argument]!);
        return { content: [{ type: 'text', text: text ?? refusal }], isError: text === undefined };
      },
    );
  return mcp;
}

/** Serves until the process ends. */
export async function serveTools(served: ServedTools): Promise<void> {
  const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
  if (port === undefined) {
    serveStdio(() => createServer(served));
    return;
  }
  const handler = createMcpHandler(() => createServer(served));
  const web = Fastify();
  web.all('/mcp', ({ method, headers, body }, reply) =>
    handler
      .fetch(
        new Request(`http://127.0.0.1:${port}/mcp`, {
          method,
          headers: headers as Record<string, string>,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      )
      .then((response) => reply.send(response)),
  );
  console.log(`${served.name}: ${await web.listen({ port: Number(port), host: '127.0.0.1' })}/mcp`);
}
