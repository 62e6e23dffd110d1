import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { environmentFailure } from '../environment-failure.ts';
import { type ContainerTool, runTool } from './container-tool.ts';

/** Where the image of a container comes from. */
export type ImageSource =
  | { readonly kind: 'image'; readonly name: string }
  /** a folder with a Dockerfile */
  | { readonly kind: 'folder'; readonly path: string };

export type Images = {
  /**
   * The name of an available image. Builds or fetches it once.
   * @throws EnvironmentFailure
   */
  readonly provide: (source: ImageSource, limitMs: number) => Promise<string>;
};

/** builds of the same folder after which a rollout gives up */
const MOST_BUILDS = 2;

export function createImages(tool: ContainerTool): Images {
  const providing = new Map<string, Promise<string>>();
  const failures = new Map<string, number>();
  const provideOnce = async (key: string, work: () => Promise<string>): Promise<string> => {
    const known = providing.get(key);
    if (known !== undefined) return known;
    const made = work();
    providing.set(key, made);
    try {
      return await made;
    } catch (error) {
      const count = (failures.get(key) ?? 0) + 1;
      failures.set(key, count);
      // A network may recover. A wrong Dockerfile stays wrong, so its failure is remembered.
      if (count < MOST_BUILDS) providing.delete(key);
      else providing.set(key, neverAgain(error as Error));
      throw error;
    }
  };
  return {
    provide: async (source, limitMs) => {
      if (source.kind === 'image')
        return provideOnce(source.name, () => fetchImage(tool, source.name, limitMs));
      const tag = `localhost/clawloop-task:${await digestOfFolder(source.path)}`;
      return provideOnce(tag, () => buildImage(tool, { tag, folder: source.path, limitMs }));
    },
  };
}

function neverAgain({ message }: Error): Promise<string> {
  const failed = Promise.reject(environmentFailure('environment-broken', message));
  failed.catch(() => {}); // perhaps no caller awaits it
  return failed;
}

const isThere = async (tool: ContainerTool, name: string): Promise<boolean> =>
  (await runTool(tool, ['image', 'inspect', name])).code === 0;

async function fetchImage(tool: ContainerTool, name: string, limitMs: number): Promise<string> {
  if (await isThere(tool, name)) return name;
  const { code, errors } = await runTool(tool, ['pull', name], { limitMs });
  if (code === 0) return name;
  throw environmentFailure('environment-unavailable', `no image ${name}: ${lastOf(errors)}`);
}

async function buildImage(
  tool: ContainerTool,
  { tag, folder, limitMs }: { readonly tag: string; readonly folder: string; readonly limitMs: number },
): Promise<string> {
  if (await isThere(tool, tag)) return tag;
  const end = monotonicNow() + limitMs;
  // Podman contacts registries even if the base image is available, unless an option forbids it. Docker never does.
  const ways = tool === 'podman' ? [['--pull=never'], ['--pull=missing']] : [[]];
  let said = '';
  for (const way of ways) {
    const args = ['build', ...way, '--tag', tag, folder];
    const { code, errors, output } = await runTool(tool, args, {
      limitMs: Math.max(1, end - monotonicNow()),
    });
    if (code === 0) return tag;
    said = lastOf(errors || output);
    if (code === undefined) said = `not built within ${limitMs / 1000} s: ${said}`;
    if (!/image not known|does not exist|not found/i.test(errors)) break;
  }
  throw environmentFailure('environment-unavailable', `cannot build ${folder}: ${said}`);
}

/** The last output of a tool, on one line. */
const lastOf = (text: string): string =>
  text
    .slice(-600)
    .trim()
    .replaceAll(/\s*\n\s*/g, ' | ');

/** Digest of all files in a folder with their names and modes: equal folders make equal images. */
export async function digestOfFolder(folder: string): Promise<string> {
  const hash = createHash('sha256');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }));
  for (const { entry, path } of paths.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = path.slice(folder.length);
    if (entry.isSymbolicLink()) hash.update(JSON.stringify([name, 'link', await readlink(path)]));
    else if (entry.isDirectory()) hash.update(JSON.stringify([name, 'folder']));
    else if (entry.isFile()) {
      const content = await readFile(path);
      hash
        .update(JSON.stringify([name, ((await stat(path)).mode & 0o111) !== 0, content.length]))
        .update(content);
    }
  }
  return hash.digest('hex').slice(0, 24);
}
