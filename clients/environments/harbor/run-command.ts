import { pause } from '../../../shared/lang/async.ts';
import { environmentFailure } from '../environment-failure.ts';
import { type ContainerTool, runTool, type ToolRun } from './container-tool.ts';

export type CommandOptions = {
  /** default: the image's user */
  readonly user?: string | undefined;
  /** default: the container's */
  readonly workdir?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** ms; then the process group of the command is killed */
  readonly limitMs: number;
  /** MB that the container may write; default: no limit */
  readonly storageMb?: number;
  readonly signal: AbortSignal;
};

/** Why a command was killed. */
export type Killed = 'late' | 'output' | 'storage';

/** What had to be mended before a command could start: no process could, or its working directory was gone. */
export type Mended = 'processes' | 'workdir';

export type CommandResult = {
  /** exit status; undefined: the command was killed */
  readonly code: number | undefined;
  readonly killed: Killed | undefined;
  readonly mended?: Mended;
  /** standard output and standard error as they came, at most 100 kB */
  readonly output: string;
};

/** bytes of output after which a command is killed */
const MOST_OUTPUT = 20_000_000;
/** bytes that Linux takes as one argument, with room for the rest */
const LONGEST_COMMAND = 100_000;
/** ms between two looks at what a container has written */
const STORAGE_LOOK_MS = 2_000;
/** ms for the end of a command after it was killed */
const GRACE_MS = 10_000;
/** tries of a restart */
const MOST_RESTARTS = 5;
/** ms after the first failed restart; then twice, three and four times as long */
const RESTART_PAUSE_MS = 500;
/** ms for the tool to look at a container, or to restart it, on a machine that is busy */
const TOOL_LIMIT_MS = 120_000;

/**
 * First line that a command prints: its process id in the container. A tool that fails prints none, which distinguishes
 * its exit codes from those of the command.
 */
const MARK = 'clawloop-command';

/**
 * Variables that the tool itself would read. The others are passed by name: other users of this machine see the
 * arguments of a process, but not its environment.
 */
const steersTool = /^(PATH|HOME|TMPDIR|LD_.*|XDG_.*|DOCKER_.*|CONTAINERS?_.*|PODMAN_.*|BUILDAH_.*)$/;

const wrapper = (storageMb: number | undefined): string =>
  [
    'exec 2>&1',
    // Without memory, the kernel ends processes of commands before the first process, whose end is the container's.
    // A child process inherits the value, and only a privileged process can lower it again.
    'echo 500 2>/dev/null > /proc/self/oom_score_adj',
    `echo "${MARK} $$"`,
    // no file is larger than the whole limit
    ...(storageMb === undefined ? [] : [`ulimit -f ${storageMb * 1024} 2>/dev/null`]),
    'exec bash -c "$0"',
  ].join('; ');

/**
 * Runs a command by bash in a container. A command that takes too long, prints or writes too much is killed with its
 * process group; that is a result and no error.
 *
 * @throws EnvironmentFailure `environment-lost` when the container is gone
 * @throws the reason of the signal
 */
export async function runCommand(
  tool: ContainerTool,
  container: string,
  command: string,
  options: CommandOptions,
): Promise<CommandResult> {
  const refused = refusalOf(command);
  if (refused !== undefined) return { code: 126, killed: undefined, output: refused };
  const first = await tryCommand(tool, container, command, options);
  if (typeof first === 'object') return first;
  if (first === 'workdir') await makeWorkdir(tool, container, options);
  else await restartFull(tool, container, options);
  const second = await tryCommand(tool, container, command, options);
  if (typeof second === 'object') return { ...second, mended: first };
  throw lost(second === 'workdir' ? 'it has no working directory' : 'it runs, but starts no command');
}

/** Why Linux cannot start a command; undefined: it can. */
function refusalOf(command: string): string | undefined {
  if (command.includes('\0')) return 'the command contains a zero byte';
  if (Buffer.byteLength(command) > LONGEST_COMMAND)
    return `the command is longer than ${LONGEST_COMMAND} bytes`;
  return undefined;
}

const lost = (reason: string) => environmentFailure('environment-lost', `the container is lost: ${reason}`);

/** Makes the working directory of the task again, or that of the image. A file may have taken its place. */
async function makeWorkdir(
  tool: ContainerTool,
  container: string,
  { workdir, signal }: CommandOptions,
): Promise<void> {
  const limits = { limitMs: TOOL_LIMIT_MS, signal };
  const ofImage = ['inspect', '--format', '{{.Config.WorkingDir}}', container];
  const folder = workdir ?? (await runTool(tool, ofImage, limits)).output.trim();
  const make = '[ -d "$0" ] || rm -f -- "$0"; mkdir -p -- "$0"';
  const asRoot = ['exec', '--user', '0', '--workdir', '/', container];
  await runTool(tool, [...asRoot, 'bash', '-c', make, folder], limits);
  signal.throwIfAborted();
}

/** Ends every process of a container that has used up its processes. */
async function restartFull(
  tool: ContainerTool,
  container: string,
  { signal }: CommandOptions,
): Promise<void> {
  await mustRun(tool, container);
  await restartContainer(tool, container, signal);
}

/**
 * Ends every process of a container and starts it again. Retried: on a busy machine the tool gives up before a container
 * with hundreds of processes has ended, and refuses another restart until then. A signal ends the tries but no
 * restart, because a container whose restart was cut off can neither run commands nor be restarted.
 *
 * @throws EnvironmentFailure `environment-lost`
 * @throws the reason of the signal
 */
export async function restartContainer(
  tool: ContainerTool,
  container: string,
  signal: AbortSignal,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { code, errors } = await runTool(tool, ['restart', '-t', '0', container], {
      limitMs: TOOL_LIMIT_MS,
    });
    signal.throwIfAborted();
    if (code === 0) return;
    if (tries === MOST_RESTARTS) throw lost(`it does not restart: ${errors.slice(-300)}`);
    await pause(RESTART_PAUSE_MS * tries, signal);
    signal.throwIfAborted();
  }
}

/** @throws EnvironmentFailure `environment-lost` */
async function mustRun(tool: ContainerTool, container: string): Promise<void> {
  const { code, output, errors } = await runTool(
    tool,
    ['inspect', '--format', '{{json .State}}', container],
    {
      limitMs: TOOL_LIMIT_MS,
    },
  );
  if (code !== 0) throw lost(errors.slice(-300));
  const state = JSON.parse(output) as {
    readonly Running: boolean;
    readonly OOMKilled: boolean;
    readonly Status: string;
  };
  if (!state.Running) throw lost(state.OOMKilled ? 'out of memory' : `it is ${state.Status}`);
}

async function tryCommand(
  tool: ContainerTool,
  container: string,
  command: string,
  { user, workdir, env = {}, limitMs, storageMb, signal }: CommandOptions,
): Promise<CommandResult | Mended> {
  signal.throwIfAborted();
  const over = new AbortController(); // the tool is killed
  const ended = new AbortController();
  let killed: Killed | undefined;
  let killing: Promise<void> | undefined;
  let [pid, start, bytes] = [undefined as string | undefined, '', 0];
  const kill = async (reason: Killed): Promise<void> => {
    if (killed !== undefined || ended.signal.aborted) return;
    killed = reason;
    if (pid !== undefined) killing = killGroup(tool, container, pid, signal);
    await killing;
    await pause(GRACE_MS, ended.signal);
    over.abort();
  };
  const timer = setTimeout(() => void kill('late'), limitMs);
  if (storageMb !== undefined)
    void watchStorage(tool, container, storageMb, ended.signal, () => kill('storage'));
  const args = [
    'exec',
    ...(user === undefined ? [] : ['--user', user]),
    ...(workdir === undefined ? [] : ['--workdir', workdir]),
    ...Object.entries(env).flatMap(([name, value]) => [
      '--env',
      steersTool.test(name) ? `${name}=${value}` : name,
    ]),
    container,
    'bash',
    '-c',
    wrapper(storageMb),
    command,
  ];
  const ran = await runTool(tool, args, {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !steersTool.test(name))),
    signal: AbortSignal.any([signal, over.signal]),
    onOutput: (part) => {
      if (pid === undefined && start.length < 100) {
        start += part.toString('latin1');
        pid = new RegExp(`^${MARK} (\\d+)\n`).exec(start)?.[1];
        // its time was over before it started
        if (pid !== undefined && killed !== undefined) killing = killGroup(tool, container, pid, signal);
      }
      bytes += part.length;
      if (bytes > MOST_OUTPUT) void kill('output');
    },
  });
  ended.abort();
  clearTimeout(timer);
  await killing; // it may restart the container, which does not run meanwhile
  signal.throwIfAborted();
  if (pid === undefined && killed === undefined) return noStart(tool, container, ran);
  if (ran.code === undefined || ran.code >= 125) await mustRun(tool, container);
  const output = ran.output.replace(/^[^\n]*\n/, '');
  return { code: killed === undefined ? ran.code : undefined, killed, output };
}

async function noStart(tool: ContainerTool, container: string, { errors }: ToolRun): Promise<Mended> {
  await mustRun(tool, container);
  // Every task has its directory when it begins, so a command has removed it.
  if (/chdir to|workdir .* does not exist/i.test(errors)) return 'workdir';
  // A restart does not fix a wrong name in the task.
  if (/no such user|unable to find user|executable file .*not found|no users found/i.test(errors))
    throw environmentFailure(
      'environment-broken',
      `no command starts in the container: ${errors.slice(-300)}`,
    );
  return 'processes';
}

/**
 * Kills a command with its child processes. If no process can start any more, the container is restarted, unless the
 * signal aborts: then the container is rated or removed. Never throws.
 */
async function killGroup(
  tool: ContainerTool,
  container: string,
  pid: string,
  signal: AbortSignal,
): Promise<void> {
  const { code } = await runTool(
    tool,
    ['exec', '--user', '0', '--workdir', '/', container, 'bash', '-c', `kill -KILL -- -${pid}`],
    { limitMs: TOOL_LIMIT_MS, signal },
  );
  if (signal.aborted) return;
  if (code === undefined || code >= 125)
    // where the restart fails, the next command says that the container is lost
    await restartContainer(tool, container, signal).catch(() => {});
}

/** Calls `onFull` once the container has written more than `storageMb`. */
async function watchStorage(
  tool: ContainerTool,
  container: string,
  storageMb: number,
  ended: AbortSignal,
  onFull: () => Promise<void>,
): Promise<void> {
  for (;;) {
    await pause(STORAGE_LOOK_MS, ended);
    if (ended.aborted) return;
    const { output } = await runTool(tool, ['inspect', '--size', '--format', '{{.SizeRw}}', container], {
      limitMs: TOOL_LIMIT_MS,
    });
    if (Number(output) > storageMb * 1_048_576) return onFull();
  }
}
