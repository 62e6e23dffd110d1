import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { javascript } from './javascript.ts';
import { python } from './python.ts';
import type { Toolchain } from './toolchain.ts';

const run = promisify(execFile);

/** Where a package comes from. */
export type PackageSpecification =
  | { readonly from: 'pypi' | 'npm'; readonly name: string; readonly version: string }
  | { readonly from: 'folder'; readonly path: string };

/** A package in a folder of its own. */
export type PackageSource = {
  readonly toolchain: Toolchain;
  /** such as `iniconfig 2.0.0`, or a folder's name */
  readonly title: string;
  readonly folder: string;
};

/** ms for a download */
const DOWNLOAD_MS = 300_000;

/** @throws UsageError for a form that is none of `pypi:NAME==VERSION`, `npm:NAME@VERSION` and a folder */
export function readSpecification(text: string): PackageSpecification {
  const pypi = /^pypi:([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+]+)$/.exec(text);
  const npm = /^npm:((?:@[a-z0-9._~-]+\/)?[a-z0-9][a-z0-9._~-]*)@([A-Za-z0-9.+-]+)$/.exec(text);
  if (pypi) return { from: 'pypi', name: pypi[1]!, version: pypi[2]! };
  if (npm) return { from: 'npm', name: npm[1]!, version: npm[2]! };
  if (/^(pypi|npm):/.test(text))
    throw new UsageError(`'${text}' needs an exact version: pypi:NAME==VERSION or npm:NAME@VERSION`);
  return { from: 'folder', path: resolve(text) };
}

/**
 * Puts a package into an empty folder.
 *
 * @throws UsageError when it cannot be fetched, or is not a package of a known language
 */
export async function fetchPackage(
  specification: PackageSpecification,
  into: string,
  signal: AbortSignal,
): Promise<PackageSource> {
  const folder = join(into, 'package');
  if (specification.from === 'folder') {
    const { path } = specification;
    if (!(await stat(path).catch(() => undefined))?.isDirectory())
      throw new UsageError(`${path} is not a folder, and not pypi:NAME==VERSION or npm:NAME@VERSION`);
    await cp(path, folder, { recursive: true, filter: (source) => !NOT_COPIED.test(basename(source)) });
    return { folder, title: basename(path), toolchain: await toolchainOf(folder, path) };
  }
  const { from, name, version } = specification;
  await mkdir(folder);
  await download(specification, into, signal);
  const archive = (await readdir(into)).find((file) => /\.(tar\.gz|tgz|zip)$/.test(file));
  if (archive === undefined || archive.endsWith('.zip'))
    throw new UsageError(`${name} ${version} has no source archive in the form .tar.gz`);
  await run('tar', ['-xzf', join(into, archive), '-C', folder, '--strip-components=1', '--no-same-owner']);
  return { folder, title: `${name} ${version}`, toolchain: from === 'pypi' ? python : javascript };
}

const NOT_COPIED = /^(\.git|\.hg|node_modules|__pycache__|\.venv|\.tox|\.pytest_cache|coverage)$/;

async function download(
  { from, name, version }: Exclude<PackageSpecification, { from: 'folder' }>,
  into: string,
  signal: AbortSignal,
): Promise<void> {
  const [command, ...args] =
    from === 'pypi'
      ? [
          'python3',
          '-m',
          'pip',
          'download',
          '--quiet',
          '--no-deps',
          '--no-binary',
          ':all:',
          `${name}==${version}`,
        ]
      : ['npm', 'pack', '--silent', '--ignore-scripts', `${name}@${version}`];
  await run(command!, args, { cwd: into, timeout: DOWNLOAD_MS, signal }).catch((error: Failed) => {
    if (signal.aborted) throw signal.reason;
    const said = (error.stderr || error.message).trim().slice(-600);
    throw new UsageError(`${name} ${version} cannot be fetched from ${from}: ${said}`);
  });
}

type Failed = Error & { readonly stderr?: string };

async function toolchainOf(folder: string, path: string): Promise<Toolchain> {
  const names = await readdir(folder);
  if (names.includes('package.json')) return javascript;
  const isPython = (name: string) => /^(pyproject\.toml|setup\.(py|cfg))$|\.py$/.test(name);
  if (names.some(isPython)) return python;
  throw new UsageError(`${path} has neither package.json nor files of a Python package`);
}

/** Paths of all files of a package, sorted. Links are left out. */
export async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Undefined: the file is not there, or not text. */
export async function textOf(folder: string, path: string): Promise<string | undefined> {
  const bytes = await readFile(join(folder, path)).catch(() => undefined);
  if (bytes === undefined) return undefined;
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : undefined;
}
