import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { freePort, until } from '../../e2e/harness/clawloop.ts';
import { exampleFile } from './questions.ts';

/**
 * The MCP server of the example, one for all attempts: its tools have no state. Writes the file for `--env mcp:`.
 */
export async function startRoutingServer(file: string) {
  const port = String(await freePort());
  const child = spawn(process.execPath, [exampleFile('server.ts'), '--port', port], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  await until('the MCP server answers', () => {
    if (child.exitCode !== null) throw new Error(`the MCP server ended with ${child.exitCode}`);
    return output.includes('/mcp');
  });
  const url = `http://127.0.0.1:${port}/mcp`;
  await writeFile(file, JSON.stringify({ mcpServers: { house: { type: 'http', url } } }));
  return {
    file,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
