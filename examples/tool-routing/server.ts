// An MCP server with four tools. `node server.ts` speaks on its standard input and output, as agent programs start it;
// `node server.ts --port 8080` serves at http://127.0.0.1:8080/mcp, for all attempts of a rollout at once.
import { parseArgs } from 'node:util';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import Fastify from 'fastify';
import { z } from 'zod';
import { routingTools } from './tools.ts';

function createServer(): McpServer {
  const server = new McpServer({ name: 'tool-routing', version: '1' });
  for (const { name, description, answer } of routingTools)
    server.registerTool(
      name,
      { description, inputSchema: z.object({ question: z.string() }) },
      ({ question }) => {
        const text = answer(question);
        return {
          content: [{ type: 'text', text: text ?? 'This question is not for me.' }],
          isError: text === undefined,
        };
      },
    );
  return server;
}

const { port } = parseArgs({ options: { port: { type: 'string' } } }).values;
if (port === undefined) serveStdio(createServer);
else {
  const handler = createMcpHandler(createServer);
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
  console.log(`tool-routing: ${await web.listen({ port: Number(port), host: '127.0.0.1' })}/mcp`);
}
