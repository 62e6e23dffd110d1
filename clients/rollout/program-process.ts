import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { pause } from '../../shared/lang/async.ts';

/** characters of each stream that are kept, its end */
const KEPT = 20_000;
/** ms that a program has to exit after SIGTERM */
const GRACE_MS = 3_000;
/** ms that output may take after the program's end; a daemon may hold its streams open */
const DRAIN_MS = 1_000;

export type ProgramRun = {
  /** undefined: a signal ended it */
  readonly code: number | undefined;
  /** end of the standard output */
  readonly stdout: string;
  /** end of the standard error */
  readonly stderr: string;
};

type Start = {
  /** working folder */
  readonly folder: string;
  /** removed when this process ends before the program; the caller removes it otherwise */
  readonly root: string;
  /** every variable that the program sees */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
};

/**
 * Beside the command, a watcher in its process group waits for the end of descriptor 3. The kernel closes the other
 * side with this process, however it ends. So neither the group nor its folder outlives a rollout that was killed.
 */
const WATCHED = `
{ trap '' TERM INT HUP; read -r _ <&3; cd /; kill -TERM 0; rm -rf "$1"; sleep 1; rm -rf "$1"; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&-
exec /bin/sh -c "$0"
`;

/**
 * Runs a shell command to its end, and then kills the rest of its process group. An abort ends the group: SIGTERM, then
 * SIGKILL.
 *
 * @throws Error when the command cannot be started
 */
export async function runProgram(command: string, { folder, root, env, signal }: Start): Promise<ProgramRun> {
  signal.throwIfAborted();
  const child = spawn('/bin/sh', ['-c', WATCHED, command, root], {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = [keepEnd(child.stdout!), keepEnd(child.stderr!)];
  const closed = once(child, 'close').catch(() => {});
  const kill = (name: NodeJS.Signals): void => killGroup(child, name);
  const stop = (): void => {
    kill('SIGTERM');
    setTimeout(() => kill('SIGKILL'), GRACE_MS).unref();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    kill('SIGKILL');
    child.stdio[3]!.destroy();
    await Promise.race([closed, pause(DRAIN_MS)]);
    return { code: code ?? undefined, stdout: stdout(), stderr: stderr() };
  } finally {
    signal.removeEventListener('abort', stop);
    for (const stream of child.stdio) stream?.destroy();
  }
}

/** The watcher keeps the group's id in use until this kills it, so the id never belongs to another group. */
function killGroup({ pid }: ChildProcess, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {} // the group has ended
}

function keepEnd(stream: NodeJS.ReadableStream): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-KEPT);
  });
  return () => text.toWellFormed();
}
