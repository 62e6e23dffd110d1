import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { freePort, until } from '../../e2e/harness/clawloop.ts';

/**
 * The MCP server of an example, one for all attempts: its tools have no state. Writes the file for `--env mcp:`.
 */
export async function startMcpServer(example: string, file: string) {
  const port = String(await freePort());
  const server = fileURLToPath(new URL(`../../../examples/${example}/server.ts`, import.meta.url));
  const child = spawn(process.execPath, [server, '--port', port], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  await until('the MCP server answers', () => {
    if (child.exitCode !== null) throw new Error(`the MCP server ended with ${child.exitCode}`);
    return output.includes('/mcp');
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await writeFile(file, JSON.stringify({ mcpServers: { tools: { type: 'http', url } } }));
  return {
    file,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
