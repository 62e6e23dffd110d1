import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const OPENENV_VERSION = '0.10.0';
/** Every package with its version, dependencies included. */
const requirements = fileURLToPath(new URL('./requirements.txt', import.meta.url));
/** A folder of the checkout that git ignores. */
const cache = fileURLToPath(new URL('../../../.openenv/', import.meta.url));
// A changed list gets a folder of its own.
const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
const folder = join(cache, `${OPENENV_VERSION}-${digest}`);
/** The Python that has OpenEnv and BFCL's worlds. */
export const openEnvPython = join(folder, 'bin/python');

/** The reason to skip its tests on this machine; null: it is installed. */
export const whyNoOpenEnv = (): string | null =>
  existsSync(openEnvPython)
    ? null
    : `OpenEnv ${OPENENV_VERSION} is not installed: run node test/e2e/openenv/install.ts, 150 MB`;

/**
 * Installs OpenEnv and BFCL's worlds from the Python package index, whole or not at all. They go into a virtual
 * environment in a folder of the checkout that git ignores. An environment that is there already stays.
 *
 * @throws Error with the output of Python
 */
export async function installOpenEnv(tell: (line: string) => void = () => {}): Promise<void> {
  if (existsSync(openEnvPython)) return;
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  tell(`installing OpenEnv ${OPENENV_VERSION} from the Python package index, 150 MB ...`);
  const ticking = setInterval(() => tell(`OpenEnv is being installed, ${seconds()}`), 15_000);
  try {
    await installWhole();
    tell(`OpenEnv is installed, after ${seconds()}`);
  } finally {
    clearInterval(ticking);
  }
}

async function installWhole(): Promise<void> {
  // The folder stays when the machine loses the Python that it links to, and is useless then.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const part = mkdtempSync(join(cache, 'part-'));
  try {
    // The machine's own pip fills it, because Debian packs `venv` with pip separately.
    await python(['-m', 'venv', '--without-pip', part]);
    const pip = ['-m', 'pip', '--python', join(part, 'bin/python'), '--disable-pip-version-check', 'install'];
    // OpenEnv and BFCL ask for gigabytes of packages that the servers never import. The list has those they import.
    await python([...pip, '--quiet', '--no-deps', '--requirement', requirements]);
    // A virtual environment may move: only its scripts contain its path, and the tests run none of them.
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(folder)) renameSync(part, folder);
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

if (import.meta.main) await installOpenEnv((line) => console.log(line));
