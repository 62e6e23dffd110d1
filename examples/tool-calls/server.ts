// An MCP server of a small shop: `node server.ts [--port 8080]`.
import { serveTools } from '../mcp-server.ts';
import { shopTools } from './tools.ts';

await serveTools({ name: 'tool-calls', tools: shopTools, refusal: 'There is no such item.' });
