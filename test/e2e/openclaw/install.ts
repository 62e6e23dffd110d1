import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const OPENCLAW_VERSION = '2026.9.6';
/** A folder of the checkout that git ignores. */
export const openClawCache = fileURLToPath(new URL('../../../.openclaw/', import.meta.url));
const folder = join(openClawCache, OPENCLAW_VERSION);
/** Its launcher: a script for the Node of this process. */
export const openClawLauncher = join(folder, 'node_modules/openclaw/openclaw.mjs');

/**
 * The reason to skip its tests on this machine; null: it is installed. The installation takes 650 MB and a minute, so
 * it needs a request.
 */
export const whyNoOpenClaw = (): string | null =>
  existsSync(openClawLauncher)
    ? null
    : `OpenClaw ${OPENCLAW_VERSION} is not installed: run node test/e2e/openclaw/install.ts, 650 MB`;

/**
 * Installs OpenClaw from the npm registry into a folder of the checkout that git ignores, without its install scripts.
 * An installed OpenClaw stays.
 *
 * @throws Error with what npm said
 */
export async function installOpenClaw(tell: (line: string) => void = () => {}): Promise<void> {
  if (existsSync(openClawLauncher)) return;
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  tell(`installing OpenClaw ${OPENCLAW_VERSION} from the npm registry, 650 MB ...`);
  const ticking = setInterval(() => tell(`OpenClaw is being installed, ${seconds()}`), 15_000);
  try {
    await installPackage(OPENCLAW_VERSION, `openclaw@${OPENCLAW_VERSION}`);
    tell(`OpenClaw is installed, after ${seconds()}`);
  } finally {
    clearInterval(ticking);
  }
}

/**
 * Installs a package of the npm registry into a folder of the cache, whole or not at all.
 *
 * @throws Error with what npm said
 */
export async function installPackage(
  name: string,
  specifier: string,
  more: readonly string[] = [],
): Promise<void> {
  mkdirSync(openClawCache, { recursive: true });
  const part = mkdtempSync(join(openClawCache, 'part-'));
  const target = join(openClawCache, name);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  try {
    await npm(['install', ...flags, ...more, '--prefix', part, specifier]);
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(target)) renameSync(part, target);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

async function npm(argv: readonly string[]): Promise<void> {
  const child = spawn('npm', argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (text += part));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`npm could not install ${argv.at(-1)}: ${text.slice(-2_000)}`);
}

if (import.meta.main) await installOpenClaw((line) => console.log(line));
