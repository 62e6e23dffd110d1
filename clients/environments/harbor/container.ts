import { hostname } from 'node:os';
import { pause } from '../../../shared/lang/async.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { environmentFailure } from '../environment-failure.ts';
import { type ContainerTool, pipeTool, runTool } from './container-tool.ts';
import { quoted } from './quoted.ts';
import { type CommandOptions, type CommandResult, restartContainer, runCommand } from './run-command.ts';
import type { Healthcheck } from './task-file.ts';

export type ContainerSettings = {
  readonly image: string;
  /** id of the episode, the value of the label `clawloop.lease` */
  readonly lease: string;
  readonly task: string;
  readonly cpus: number;
  readonly memoryMb: number;
  readonly storageMb: number;
  readonly withNetwork: boolean;
  readonly workdir: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly healthcheck: Healthcheck | undefined;
};

export type Container = {
  readonly id: string;
  readonly storageMb: number;
  /** @throws EnvironmentFailure `environment-lost` when the container is gone */
  readonly run: (command: string, options: CommandOptions) => Promise<CommandResult>;
  /** Copies the contents of a folder of this machine. @throws EnvironmentFailure */
  readonly copyIn: (folder: string, path: string) => Promise<void>;
  /** Copies a file or folder into a folder of another container. False: it is not there. */
  readonly copyTo: (path: string, other: Container, into: string) => Promise<boolean>;
  /** Ends every process of the container; its files stay. @throws EnvironmentFailure */
  readonly restart: (signal: AbortSignal) => Promise<void>;
  /** Never throws. */
  readonly remove: () => Promise<void>;
};

/** processes and threads at once */
const MOST_PROCESSES = 512;
/** tries of a removal, and ms after the first that failed; then twice and three times as long */
const [MOST_REMOVALS, REMOVAL_PAUSE_MS] = [4, 500];
/** ms for a command of the tool that only asks or copies */
const TOOL_LIMIT_MS = 120_000;

/** Folders that Harbor's tasks expect. */
const LOGS = ['/logs/agent', '/logs/verifier', '/logs/artifacts'];

/** The first process. It ignores the ends of children, so that the kernel removes orphans without a parent. */
const IDLE = ['sh', '-c', "trap '' CHLD; exec sleep infinity"];

/** Containers of this process that are not removed yet, for the moment in which it ends. */
export const living = new Map<string, ContainerTool>();

/** @throws EnvironmentFailure `environment-unavailable` */
export async function startContainer(
  tool: ContainerTool,
  settings: ContainerSettings,
  signal: AbortSignal,
): Promise<Container> {
  const { memoryMb, cpus, withNetwork, env } = settings;
  const name = `clawloop-${settings.lease.replaceAll(/[^A-Za-z0-9_.-]/g, '-')}-${Math.random().toString(36).slice(2, 8)}`;
  const args = [
    'run',
    '--detach',
    '--name',
    name,
    '--pids-limit',
    String(MOST_PROCESSES),
    // Podman otherwise waits ten seconds for the first process, which ends by no other signal
    '--stop-signal',
    'KILL',
    '--stop-timeout',
    '0',
    '--memory',
    `${memoryMb}m`,
    '--memory-swap',
    `${memoryMb}m`,
    '--cpus',
    String(cpus),
    '--label',
    `clawloop.lease=${settings.lease}`,
    '--label',
    `clawloop.host=${hostname()}`,
    '--label',
    `clawloop.process=${process.pid}`,
    '--label',
    `clawloop.task=${settings.task}`,
    ...(withNetwork ? [] : ['--network', 'none']),
    ...Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
  ];
  living.set(name, tool);
  const container = containerOf(tool, name, settings);
  try {
    const { code, errors } = await runTool(tool, [...args, settings.image, ...IDLE], {
      limitMs: TOOL_LIMIT_MS,
    });
    if (code !== 0)
      throw environmentFailure('environment-unavailable', `cannot start a container: ${errors}`);
    await container.begin(signal);
    return container;
  } catch (error) {
    await container.remove();
    throw error;
  }
}

function containerOf(tool: ContainerTool, id: string, settings: ContainerSettings) {
  const { workdir } = settings;
  const run: Container['run'] = (command, options) => runCommand(tool, id, command, { workdir, ...options });
  const restart = async (signal: AbortSignal): Promise<void> => {
    await restartContainer(tool, id, signal);
    await checkHealth(run, settings.healthcheck, signal);
  };
  return {
    id,
    storageMb: settings.storageMb,
    run,
    restart,
    begin: async (signal: AbortSignal): Promise<void> => {
      const folders = [...LOGS, ...(workdir === undefined ? [] : [quoted(workdir)])].join(' ');
      const { code, output } = await run(`mkdir -p ${folders} && chmod 777 /logs ${LOGS.join(' ')}`, {
        user: '0',
        workdir: '/',
        limitMs: TOOL_LIMIT_MS,
        signal,
      });
      if (code !== 0)
        throw environmentFailure('environment-unavailable', `cannot prepare the container: ${output}`);
      await checkHealth(run, settings.healthcheck, signal);
    },
    copyIn: async (folder: string, path: string): Promise<void> => {
      const { code, errors } = await runTool(tool, ['cp', `${folder}/.`, `${id}:${path}`], {
        limitMs: TOOL_LIMIT_MS,
      });
      if (code !== 0) throw environmentFailure('environment-lost', `cannot copy to the container: ${errors}`);
    },
    copyTo: (path: string, other: Container, into: string) =>
      pipeTool(tool, ['cp', `${id}:${path}`, '-'], ['cp', '-', `${other.id}:${into}`], TOOL_LIMIT_MS),
    remove: () => removeContainer(tool, id),
  };
}

/**
 * Removes a container with its volumes. Retried: on a busy machine the tool gives up before a container with hundreds
 * of processes has ended, and Ctrl-C in a terminal also ends the tool. A container that is left stays in `living`.
 */
async function removeContainer(tool: ContainerTool, id: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    const { code } = await runTool(tool, ['rm', '--force', '--volumes', id], { limitMs: TOOL_LIMIT_MS });
    if (code === 0 || (await isMissing(tool, id))) return void living.delete(id);
    if (tries === MOST_REMOVALS) return;
    await pause(REMOVAL_PAUSE_MS * tries);
  }
}

async function isMissing(tool: ContainerTool, id: string): Promise<boolean> {
  const { code } = await runTool(tool, ['inspect', id], { limitMs: TOOL_LIMIT_MS });
  return code !== undefined && code !== 0;
}

/** Waits until a container is ready. @throws EnvironmentFailure `environment-unavailable` */
export async function checkHealth(
  run: Container['run'],
  check: Healthcheck | undefined,
  signal: AbortSignal,
  user?: string,
): Promise<void> {
  if (check === undefined) return;
  const graceEnds = monotonicNow() + check.start_period_sec * 1000;
  for (let failures = 0; failures < check.retries; ) {
    const options = { limitMs: check.timeout_sec * 1000, signal };
    const { code } = await run(check.command, user === undefined ? options : { ...options, user });
    if (code === 0) return;
    const isStarting = monotonicNow() < graceEnds;
    if (!isStarting) failures++;
    if (failures < check.retries)
      await pause(1000 * (isStarting ? check.start_interval_sec : check.interval_sec), signal);
    signal.throwIfAborted();
  }
  throw environmentFailure('environment-unavailable', `the healthcheck failed: ${check.command}`);
}
