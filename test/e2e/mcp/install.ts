import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe } from 'vitest';

/** Every package with its version, dependencies included. */
const here = (name: string) => fileURLToPath(new URL(`./servers/${name}`, import.meta.url));
/** A folder of the checkout that git ignores. */
const cache = fileURLToPath(new URL('../../../.mcp-servers/', import.meta.url));
// A changed list gets a folder of its own.
const digest = createHash('sha256')
  .update(readFileSync(here('package-lock.json')))
  .digest('hex');
const folder = join(cache, digest.slice(0, 8));

/** The command of a server, for a file of servers. */
export const realServer = (name: 'everything' | 'filesystem', ...args: readonly string[]) => ({
  command: process.execPath,
  args: [join(folder, 'node_modules/@modelcontextprotocol', `server-${name}`, 'dist/index.js'), ...args],
});

/** ms: npm takes ten seconds on two cores */
const INSTALL_LIMIT_MS = 5 * 60_000;

/**
 * Tests with the reference servers of MCP from npm. Where they are not installed, the suite is skipped and its name
 * says why. With CLAWLOOP_REQUIRE_ALL=1 they are installed first, outside the time of the tests.
 */
export function describeWithMcpServers(name: string, tests: () => void): void {
  const isThere = existsSync(folder) || process.env.CLAWLOOP_REQUIRE_ALL === '1';
  const missing = 'the MCP servers are not installed: with CLAWLOOP_REQUIRE_ALL=1 they are installed, 40 MB';
  describe.skipIf(!isThere)(isThere ? name : `${name} (${missing})`, () => {
    beforeAll(install, INSTALL_LIMIT_MS);
    tests();
  });
}

/** Installs the servers from the npm registry, whole or not at all. */
async function install(): Promise<void> {
  if (existsSync(folder)) return;
  mkdirSync(cache, { recursive: true });
  const part = mkdtempSync(join(cache, 'part-'));
  try {
    for (const name of ['package.json', 'package-lock.json']) copyFileSync(here(name), join(part, name));
    const child = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: part,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`npm ci ended with ${code}: ${text.slice(-2_000)}`);
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(folder)) renameSync(part, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}
