import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Kept between runs, one folder for each set of packages. */
const cache = fileURLToPath(new URL('../../.python-packages', import.meta.url));

export type PythonPackages =
  | { readonly env: NodeJS.ProcessEnv; readonly missing?: undefined }
  | { readonly missing: string };

/** @throws Error if the packages are missing: the suite must be skipped then */
export function environmentOf(packages: PythonPackages): NodeJS.ProcessEnv {
  if (packages.missing !== undefined) throw new Error(packages.missing);
  return packages.env;
}

/**
 * The environment in which python3 finds the modules: unchanged if they are installed, otherwise with the packages of a
 * requirements file, which are installed from the Python package index at the first use. If they cannot be installed,
 * `missing` gives the reason; with CLAWLOOP_REQUIRE_ALL=1 it throws.
 *
 * @param flags for `pip install`
 */
export async function pythonPackages(
  requirements: string,
  modules: readonly string[],
  flags: readonly string[] = [],
): Promise<PythonPackages> {
  try {
    const env = { ...process.env };
    const imports = ['-c', `import ${modules.join(', ')}`];
    const has = (given: NodeJS.ProcessEnv) =>
      run('python3', imports, { env: given }).then(
        () => true,
        () => false,
      );
    await run('python3', ['--version']);
    if (await has(env)) return { env };
    const folder = await install(requirements, flags);
    const withPackages = { ...env, PYTHONPATH: folder };
    await run('python3', imports, { env: withPackages });
    return { env: withPackages };
  } catch (error) {
    const { message } = error as Error;
    if (process.env.CLAWLOOP_REQUIRE_ALL === '1') throw error;
    return { missing: `no Python with ${modules.join(', ')}: ${message.split('\n').at(-1)}` };
  }
}

async function install(requirements: string, flags: readonly string[]): Promise<string> {
  const digest = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex');
  const folder = join(cache, digest.slice(0, 16));
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const making = `${folder}-${process.pid}`;
  try {
    const wanted = ['--quiet', ...flags, '--target', making, '-r', requirements];
    await run('python3', ['-m', 'pip', 'install', ...wanted]);
    await rename(making, folder);
  } finally {
    await rm(making, { recursive: true, force: true });
  }
  return folder;
}
