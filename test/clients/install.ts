import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder of the checkout that git ignores, for programs and recorded requests. */
export const clientsCache = fileURLToPath(new URL('../../.clients/', import.meta.url));

/** Where a program comes from; the version is exact. */
export type Package =
  | {
      readonly registry: 'npm';
      readonly name: string;
      readonly version: string;
      /** its executable below node_modules; a script runs with this Node */
      readonly executable: string;
    }
  | {
      readonly registry: 'pypi';
      readonly name: string;
      readonly version: string;
      /** its executable among those of the virtual environment */
      readonly executable: string;
      /** versions of Python that it runs on, the best first */
      readonly pythons: readonly string[];
      /** packages that it needs but does not declare */
      readonly also?: readonly string[];
    };

/** The command line that starts a program, without its arguments. */
export type Launcher = readonly [command: string, ...first: string[]];

/** pip has taken six minutes on a busy machine. */
const INSTALL_LIMIT_MS = 20 * 60_000;

/** Platform and processor, in the form of most packages with binaries. */
export const platform = `${process.platform}-${process.arch}`;

const folderOf = ({ name, version }: Package): string =>
  join(clientsCache, `${name.replace(/^@/, '').replace('/', '-')}-${version}`);

const launcherIn = (folder: string, from: Package): Launcher => {
  if (from.registry === 'pypi') return [join(folder, 'bin', from.executable)];
  const file = join(folder, 'node_modules', from.executable);
  return /\.[cm]?js$/.test(file) ? [process.execPath, file] : [file];
};

/**
 * Installs a program from its registry into its own folder, as users do, but without the install scripts of npm. A
 * program that is installed already stays.
 *
 * @throws Error with what the installer said
 */
export async function installClient(from: Package, tell: (line: string) => void): Promise<Launcher> {
  const folder = folderOf(from);
  if (!existsSync(launcherIn(folder, from).at(-1)!)) {
    tell(`installing ${from.name} ${from.version} from ${from.registry}`);
    mkdirSync(clientsCache, { recursive: true });
    await (from.registry === 'npm' ? installNpm(from, folder) : installPython(from, folder));
  }
  const launcher = launcherIn(folder, from);
  if (!existsSync(launcher.at(-1)!)) throw new Error(`${from.name} has no program for ${platform}`);
  return launcher;
}

async function installNpm({ name, version }: Package, folder: string): Promise<void> {
  const part = mkdtempSync(join(clientsCache, 'part-'));
  const flags = [
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    '--loglevel=error',
    '--prefer-offline',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--fetch-retry-maxtimeout=1000',
  ];
  try {
    await installer('npm', ['install', ...flags, '--prefix', part, `${name}@${version}`]);
    // Two processes may install at once, and the first folder in place is as good as the second.
    if (!existsSync(folder)) renameSync(part, folder);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
}

/** A virtual environment contains its own path, so it is created in its final place. */
async function installPython(from: Package & { registry: 'pypi' }, folder: string): Promise<void> {
  const python = await findPython(from.pythons);
  try {
    await installer(python, ['-m', 'venv', '--clear', folder]);
    const specifier = `${from.name}==${from.version}`;
    await installer(join(folder, 'bin', 'python'), [
      '-m',
      'pip',
      'install',
      '--quiet',
      specifier,
      ...(from.also ?? []),
    ]);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function installer(command: string, argv: readonly string[]): Promise<void> {
  const limits = { maxBuffer: 64 * 2 ** 20, timeout: INSTALL_LIMIT_MS };
  await run(command, argv, limits).catch((error: Error & { readonly stderr?: string }) => {
    throw new Error(`${argv.at(-1)} cannot be installed: ${(error.stderr || error.message).slice(-1_000)}`);
  });
}

/** A Python of this version on PATH, or one of pyenv. */
async function findPython(versions: readonly string[]): Promise<string> {
  const root = process.env.PYENV_ROOT ?? join(process.env.HOME ?? '', '.pyenv');
  const { stdout = '' } = await run('ls', [join(root, 'versions')]).catch(() => ({ stdout: '' }));
  const kept = stdout.split('\n').filter(Boolean);
  for (const version of versions) {
    const ofPyenv = kept
      .filter((one) => one.startsWith(`${version}.`))
      .map((one) => join(root, 'versions', one, 'bin/python'));
    for (const candidate of [...ofPyenv, `python${version}`])
      if (
        await run(candidate, ['-m', 'venv', '--help']).then(
          () => true,
          () => false,
        )
      )
        return candidate;
  }
  throw new Error(`no Python ${versions.join(' or ')} with venv`);
}
