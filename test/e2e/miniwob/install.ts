import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findBrowser } from '../../../clients/environments/miniwob/browser.ts';

const VERSION = '1.1.0';
const requirements = fileURLToPath(new URL('./requirements.txt', import.meta.url));
/** A folder of the checkout that git ignores. */
const cache = fileURLToPath(new URL('../../../.miniwob/', import.meta.url));
/** The folder of pages, as `--env miniwob:FOLDER` takes it. */
export const pagesFolder = join(cache, VERSION);

/** The reason to skip the tests on this machine; null: Chromium and the pages are installed. */
export function whyNoMiniWob(): string | null {
  try {
    findBrowser(undefined);
  } catch {
    return 'there is no Chromium on PATH';
  }
  return existsSync(pagesFolder)
    ? null
    : `the pages of MiniWoB++ ${VERSION} are not installed: run node test/e2e/miniwob/install.ts, 2 MB`;
}

/**
 * Installs the pages from the Python package index, whole or not at all. Installed pages stay.
 *
 * @throws Error with the output of Python
 */
export async function installMiniWob(): Promise<void> {
  if (existsSync(pagesFolder)) return;
  mkdirSync(cache, { recursive: true });
  const part = mkdtempSync(join(cache, 'part-'));
  try {
    const options = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore', '--no-deps'];
    await python(['-m', 'pip', 'install', ...options, '--target', part, '--requirement', requirements]);
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(pagesFolder)) renameSync(part, pagesFolder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

async function python(argv: readonly string[]): Promise<void> {
  const child = spawn('python3', argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`python3 ${argv.join(' ')}: ${text.slice(-2_000)}`);
}

if (import.meta.main) await installMiniWob();
