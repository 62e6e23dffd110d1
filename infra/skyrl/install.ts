import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SKYRL_VERSION = '0.4.0';
const UV_VERSION = '0.13.9';
/** Every package with its version, dependencies included. */
const requirements = fileURLToPath(new URL('./requirements.txt', import.meta.url));
/** A folder of the checkout that git ignores. */
export const skyrlCache = fileURLToPath(new URL('../../.skyrl/', import.meta.url));
// A changed list gets a folder of its own.
const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 8);
/** The virtual environment with SkyRL, uv and the official Python client of the Tinker API. */
export const skyrlEnvironment = join(skyrlCache, `${SKYRL_VERSION}-${digest}`);
export const skyrlPython = join(skyrlEnvironment, 'bin/python');

/** The reason to skip its tests on this machine; null where it is installed. */
export const whyNoSkyrl = (): string | null =>
  existsSync(skyrlPython) ? null : `SkyRL ${SKYRL_VERSION} is not installed: npm run setup:skyrl, 6 GB`;

/** SkyRL 0.4.0 asks for Python 3.12 to 3.14. */
const versions = ['3.12', '3.13', '3.14'] as const;

/** By name, or as pyenv keeps it. */
function candidates(): readonly string[] {
  const pyenv = join(process.env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions');
  const kept = existsSync(pyenv) ? readdirSync(pyenv) : [];
  return versions.flatMap((version) => [
    `python${version}`,
    ...kept.filter((name) => name.startsWith(`${version}.`)).map((name) => join(pyenv, name, 'bin/python')),
  ]);
}

/** @throws Error that names what is missing */
async function findPython(signal: AbortSignal): Promise<string> {
  let withoutPip: string | undefined;
  for (const candidate of candidates()) {
    if (!(await succeeds(candidate, ['-c', 'import venv'], signal))) continue;
    if (await succeeds(candidate, ['-m', 'pip', '--version'], signal)) return candidate;
    withoutPip = candidate;
  }
  throw new Error(
    withoutPip === undefined
      ? `SkyRL ${SKYRL_VERSION} needs Python ${versions.join(', ')} with its module venv. Install one, for example python3.12 and python3.12-venv on Debian or Ubuntu.`
      : `${withoutPip} has no pip. Install it, for example python3-pip on Debian or Ubuntu.`,
  );
}

const succeeds = (command: string, argv: readonly string[], signal: AbortSignal): Promise<boolean> =>
  run(command, argv, signal).then(
    () => true,
    () => {
      signal.throwIfAborted();
      return false;
    },
  );

/** @throws Error with the command's output */
async function run(command: string, argv: readonly string[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  // A group of its own: Ctrl-C reaches this process alone, which ends the group and cleans up.
  const child: ChildProcess = spawn(command, argv, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  let text = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (text += part));
  const stop = () => void (child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'));
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    signal.throwIfAborted();
    if (code !== 0) throw new Error(`${command} ${argv.slice(0, 4).join(' ')} ...: ${text.slice(-2_000)}`);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Installs SkyRL from the Python package index into an ignored folder of the checkout, whole or not at all. An
 * environment that is there already stays. The signal ends it and leaves nothing behind.
 *
 * @throws Error that names the missing Python, or with the output of pip or uv
 */
export async function installSkyrl(
  tell: (line: string) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  if (existsSync(skyrlPython)) return;
  const python = await findPython(signal);
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  tell(`SkyRL ${SKYRL_VERSION} is fetched from the Python package index: 3 GB, 6 GB on disk, by ${python}`);
  const ticking = setInterval(() => tell(`SkyRL is being installed, ${seconds()}`), 10_000);
  try {
    await installWhole(python, signal);
    tell(`SkyRL is installed after ${seconds()}: ${skyrlEnvironment}`);
  } finally {
    clearInterval(ticking);
  }
}

async function installWhole(python: string, signal: AbortSignal): Promise<void> {
  mkdirSync(skyrlCache, { recursive: true });
  const part = mkdtempSync(join(skyrlCache, 'part-'));
  const inPart = join(part, 'bin/python');
  try {
    // The machine's own pip fills it, because Debian packs `venv` with pip separately.
    await run(python, ['-m', 'venv', '--without-pip', part], signal);
    const pip = ['-m', 'pip', '--python', inPart, '--disable-pip-version-check', 'install', '--quiet'];
    await run(python, [...pip, `uv==${UV_VERSION}`], signal);
    // uv starts SkyRL's engine, and installs in a sixth of pip's time.
    const uv = join(part, 'bin/uv');
    const list = ['--no-deps', '--requirement', requirements];
    await run(uv, ['pip', 'install', '--no-cache', '--python', inPart, ...list], signal);
    await run(inPart, ['-c', 'import skyrl.tinker.api, skyrl.backends.jax'], signal);
    // A virtual environment may move: only its scripts contain its path, and nothing here runs them.
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(skyrlEnvironment)) renameSync(part, skyrlEnvironment);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  await installSkyrl((line) => console.error(`setup:skyrl: ${line}`), stop.signal).catch((error: Error) => {
    console.error(`setup:skyrl: ${stop.signal.aborted ? 'stopped; nothing is left behind' : error.message}`);
    process.exitCode = stop.signal.aborted ? 130 : 1;
  });
}
