import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import type { Writable } from 'node:stream';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { keepOutput } from './kept-output.ts';

export type ContainerTool = 'podman' | 'docker';

/**
 * The named tool, or the first that is installed.
 *
 * @throws UsageError when it is not installed
 */
export function containerTool(named: ContainerTool | undefined): ContainerTool {
  const candidates: readonly ContainerTool[] = named === undefined ? ['podman', 'docker'] : [named];
  const found = candidates.find((tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).status === 0);
  if (found === undefined)
    throw new UsageError(`harbor tasks need containers: install ${candidates.join(' or ')}`);
  return found;
}

export type ToolOptions = {
  /** kills the tool itself, not its command in a container */
  readonly signal?: AbortSignal;
  /** ms, then the tool is killed */
  readonly limitMs?: number;
  /** added to this process's own environment */
  readonly env?: Readonly<Record<string, string>>;
  /** called with each part of the standard output */
  readonly onOutput?: (part: Buffer) => void;
};

export type ToolRun = {
  /** undefined: it was killed, or could not be started */
  readonly code: number | undefined;
  readonly output: string;
  /** error output of the tool itself */
  readonly errors: string;
};

/** bytes of each stream that are kept */
const KEPT = 100_000;

/** Runs the tool to its end. Never throws. */
export function runTool(
  tool: ContainerTool,
  args: readonly string[],
  { signal, limitMs, env = {}, onOutput }: ToolOptions = {},
): Promise<ToolRun> {
  return new Promise((resolve) => {
    const child = startTool(tool, args, env);
    if (child instanceof Error) return resolve({ code: undefined, output: '', errors: child.message });
    const [output, errors] = [keepOutput(KEPT), keepOutput(KEPT)];
    child.stdout.on('data', (part: Buffer) => {
      output.add(part);
      onOutput?.(part);
    });
    child.stderr.on('data', errors.add);
    const kill = () => void child.kill('SIGKILL');
    const timer = limitMs === undefined ? undefined : setTimeout(kill, limitMs);
    if (signal?.aborted) kill();
    signal?.addEventListener('abort', kill, { once: true });
    const end = (code: number | undefined, extra = '') => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', kill);
      resolve({ code, output: output.text(), errors: `${errors.text()}${extra}`.trim() });
    };
    child.once('error', (error) => end(undefined, error.message));
    child.once('close', (code) => end(code ?? undefined));
  });
}

/** The started tool, or why Node does not start it: a zero byte in an argument, or no memory. */
function startTool(tool: ContainerTool, args: readonly string[], env: Readonly<Record<string, string>>) {
  try {
    return spawn(tool, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: tmpdir(), // podman's monitor leaves a file named `oom` in its working directory
      env: { ...process.env, ...env },
    });
  } catch (error) {
    return error as Error;
  }
}

/** Runs the tool twice, the standard output of the first as the input of the second. Whether both succeeded. */
export async function pipeTool(
  tool: ContainerTool,
  from: readonly string[],
  to: readonly string[],
  limitMs: number,
): Promise<boolean> {
  const source = spawn(tool, from, { stdio: ['ignore', 'pipe', 'ignore'] });
  const target = spawn(tool, to, { stdio: ['pipe', 'ignore', 'ignore'] });
  const timer = setTimeout(() => {
    source.kill('SIGKILL');
    target.kill('SIGKILL');
  }, limitMs);
  target.stdin.on('error', () => {}); // the target ended first, which its exit code shows
  target.once('close', () => source.kill('SIGKILL')); // nobody reads what it still writes
  source.stdout.pipe(target.stdin as Writable);
  const codeOf = (child: typeof source | typeof target) =>
    new Promise<number | null>((resolve) => {
      child.once('error', () => resolve(null));
      child.once('close', (code: number | null) => resolve(code));
    });
  const codes = await Promise.all([codeOf(source), codeOf(target)]);
  clearTimeout(timer);
  return codes.every((code) => code === 0);
}
