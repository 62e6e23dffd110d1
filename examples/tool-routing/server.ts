// An MCP server with four tools: `node server.ts [--port 8080]`.
import { serveTools } from '../mcp-server.ts';
import { routingTools } from './tools.ts';

await serveTools({
  name: 'tool-routing',
  tools: routingTools.map((tool) => ({ ...tool, argument: 'question' })),
  refusal: 'This question is not for me.',
});
