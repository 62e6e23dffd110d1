import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const SKYRL_VERSION = '0.4.0';
const UV_VERSION = '0.13.9';
/** A folder of the checkout that git ignores. */
export const skyrlCache = fileURLToPath(new URL('../../.skyrl/', import.meta.url));

/** Where JAX computes: a GPU needs the packages of CUDA beside the others. */
export type SkyrlPlatform = 'cpu' | 'cuda';

/** Every package with its version, dependencies included. */
const listOf = (platform: SkyrlPlatform): string =>
  fileURLToPath(
    new URL(platform === 'cpu' ? './requirements.txt' : './requirements-gpu.txt', import.meta.url),
  );

/** The virtual environment with SkyRL, uv and the official Python client. A changed list gets a folder of its own. */
export function skyrlEnvironment(platform: SkyrlPlatform = 'cpu'): string {
  const lists = platform === 'cpu' ? [listOf('cpu')] : [listOf('cpu'), listOf('cuda')];
  const digest = createHash('sha256').update(Buffer.concat(lists.map((list) => readFileSync(list))));
  return join(skyrlCache, `${SKYRL_VERSION}-${platform}-${digest.digest('hex').slice(0, 8)}`);
}
export const skyrlPython = (platform: SkyrlPlatform = 'cpu'): string =>
  join(skyrlEnvironment(platform), 'bin/python');

/** The reason to skip its tests on this machine; null where it is installed. */
export function whyNoSkyrl(platform: SkyrlPlatform = 'cpu'): string | null {
  if (existsSync(skyrlPython(platform))) return null;
  const command = `npm run setup:skyrl${platform === 'cpu' ? '' : ' -- --gpu'}`;
  return `SkyRL ${SKYRL_VERSION} is not installed: ${command}, ${sizeOf[platform]} on disk`;
}

const sizeOf = { cpu: '6 GB', cuda: '7 GB' } as const;

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
  platform: SkyrlPlatform = 'cpu',
  tell: (line: string) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  if (existsSync(skyrlPython(platform))) return;
  const python = await findPython(signal);
  const started = performance.now();
  const seconds = () => `${Math.round((performance.now() - started) / 1000)} s`;
  tell(
    `SkyRL ${SKYRL_VERSION} is fetched from the Python package index: ${sizeOf[platform]} on disk, by ${python}`,
  );
  const ticking = setInterval(() => tell(`SkyRL is being installed, ${seconds()}`), 10_000);
  try {
    await installWhole(platform, python, signal);
    tell(`SkyRL is installed after ${seconds()}: ${skyrlEnvironment(platform)}`);
  } finally {
    clearInterval(ticking);
  }
}

async function installWhole(platform: SkyrlPlatform, python: string, signal: AbortSignal): Promise<void> {
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
    const list = ['--no-deps', '--requirement', listOf(platform)];
    await run(uv, ['pip', 'install', '--no-cache', '--python', inPart, ...list], signal);
    await run(inPart, ['-c', 'import skyrl.tinker.api, skyrl.backends.jax'], signal);
    // A virtual environment may move: only its scripts contain its path, and nothing here runs them.
    // Two processes may install at once, and the first folder in place is as good as the second.
    const folder = skyrlEnvironment(platform);
    if (!existsSync(folder)) renameSync(part, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

// install.ts [--gpu]
if (import.meta.main) {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort());
  const platform = process.argv.includes('--gpu') ? 'cuda' : 'cpu';
  await installSkyrl(platform, (line) => console.error(`setup:skyrl: ${line}`), stop.signal).catch(
    (error: Error) => {
      console.error(
        `setup:skyrl: ${stop.signal.aborted ? 'stopped; nothing is left behind' : error.message}`,
      );
      process.exitCode = stop.signal.aborted ? 130 : 1;
    },
  );
}
