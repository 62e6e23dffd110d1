import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shortHash } from '../../../shared/lang/short-hash.ts';
import { type ContainerTool, runTool } from '../harbor/container-tool.ts';
import type { Toolchain } from './toolchain.ts';
import { readTestRun, type TestRun } from './verdict.ts';

/** A container for repeated tests of a package. It has no network. */
export type Workbench = {
  /** Copies a folder's contents over the package's. */
  readonly copyIn: (folder: string) => Promise<void>;
  /** Writes one file of the package. */
  readonly write: (path: string, text: string) => Promise<void>;
  /** Runs the package's tests, at most `limitMs`. */
  readonly test: (limitMs: number) => Promise<TestRun & { readonly printed: string }>;
  /** Runs a script of this folder with an input. Returns its output. @throws Error with its error output */
  readonly runScript: (name: string, input: string) => Promise<string>;
  /** The unified diff of a file of the package, from one text to another. */
  readonly diff: (path: string, from: string, to: string) => Promise<string>;
  /** Never throws. */
  readonly close: () => Promise<void>;
};

/** Where the files of the runners and scripts are. */
export const here = fileURLToPath(new URL('.', import.meta.url));
export const runnerFile = ({ language }: Toolchain, name: string): string =>
  join(here, 'runner', language, name);

/** ms for a build, which may install packages of the system */
const BUILD_MS = 900_000;
/** ms for a command that copies or asks */
const COMMAND_MS = 60_000;

/** @throws Error when the image cannot be built or the container cannot be started */
export async function openWorkbench(
  tool: ContainerTool,
  toolchain: Toolchain,
  signal: AbortSignal,
): Promise<Workbench> {
  const scratch = await mkdtemp(join(tmpdir(), 'clawloop-swe-'));
  const must = async (args: readonly string[], limitMs = COMMAND_MS): Promise<string> => {
    const { code, output, errors } = await runTool(tool, args, { signal, limitMs });
    signal.throwIfAborted();
    if (code !== 0)
      throw new Error(`${tool} ${args[0]} failed: ${`${errors}\n${output}`.trim().slice(-1_500)}`);
    return output;
  };
  const id = `clawloop-swe-${process.pid}-${shortHash(scratch).slice(0, 6)}`;
  const close = async (): Promise<void> => {
    await runTool(tool, ['rm', '--force', '--volumes', id], { limitMs: COMMAND_MS });
    await rm(scratch, { recursive: true, force: true });
  };
  const put = async (file: string, path: string): Promise<void> =>
    void (await must(['cp', file, `${id}:${path}`]));
  const write = async (path: string, text: string): Promise<void> => {
    await writeFile(join(scratch, 'file'), text);
    await must(['exec', id, 'mkdir', '-p', dirname(path)]);
    await put(join(scratch, 'file'), path);
  };
  try {
    await writeFile(join(scratch, 'Dockerfile'), `${toolchain.image}\n`);
    const image = `localhost/clawloop-swe:${toolchain.language}-${shortHash(toolchain.image).slice(0, 8)}`;
    await must(['build', '--tag', image, scratch], BUILD_MS);
    await must([
      'run',
      '--detach',
      '--name',
      id,
      '--network',
      'none',
      '--pids-limit',
      '512',
      image,
      'sleep',
      'infinity',
    ]);
    await must(['exec', id, 'mkdir', '-p', '/app', '/tests']);
    await put(join(here, 'runner/run-apart.sh'), '/tests/run-apart.sh');
    for (const name of toolchain.runner) await put(runnerFile(toolchain, name), `/tests/${name}`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    close,
    copyIn: (folder) => put(`${folder}/.`, '/app'),
    write: (path, text) => write(`/app/${path}`, text),
    test: async (limitMs) => {
      const seconds = String(Math.ceil(limitMs / 1000));
      const argv = ['/tests/run-apart.sh', '/app', seconds, '/tmp/results'];
      const options = { signal, limitMs: limitMs + COMMAND_MS };
      const ran = await runTool(tool, ['exec', id, 'sh', ...argv], options);
      signal.throwIfAborted();
      await must(['cp', `${id}:/tmp/results`, join(scratch, 'results')]);
      return {
        ...readTestRun(await readFile(join(scratch, 'results'), 'utf8')),
        printed: `${ran.output}\n${ran.errors}`.trim(),
      };
    },
    runScript: async (name, input) => {
      await put(join(here, name), `/tmp/${name}`);
      await write('/tmp/input', input);
      await must(['exec', id, 'sh', '-c', `python3 /tmp/${name} < /tmp/input > /tmp/output`]);
      await must(['cp', `${id}:/tmp/output`, join(scratch, 'output')]);
      return readFile(join(scratch, 'output'), 'utf8');
    },
    diff: async (path, from, to) => {
      await write(`/tmp/diff/a/${path}`, from);
      await write(`/tmp/diff/b/${path}`, to);
      const command = `cd /tmp/diff && git diff --no-index --no-color --no-prefix a b; rm -rf /tmp/diff`;
      return must(['exec', id, 'sh', '-c', command]);
    },
  };
}
