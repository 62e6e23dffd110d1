import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Task } from '../../rollout/read-tasks.ts';
import type { EnvironmentDriver, EpisodeOptions, TaskSelection } from '../environment.ts';
import { environmentFailure } from '../environment-failure.ts';
import { type Container, living, startContainer } from './container.ts';
import { type ContainerTool, containerTool } from './container-tool.ts';
import { type Episode, openEpisode } from './episode.ts';
import { createImages } from './images.ts';
import { removeAtExit, removeLeftovers, removeWhenKilled } from './leftovers.ts';
import { type Grading, imageOf, phasesOf } from './phases.ts';
import { networkOf } from './refusals.ts';
import { createSlots } from './slots.ts';
import type { EnvironmentTable } from './task-file.ts';
import { type HarborTask, readTask, taskFoldersIn } from './task-folder.ts';
import { resolveVariables } from './variables.ts';

export type HarborSettings = {
  /** a task directory, or a folder of them */
  readonly place: string;
  /** undefined: the one that is installed */
  readonly tool: ContainerTool | undefined;
  /** attempts with a container at once */
  readonly environments: number;
  /** whether a task that asks for a network gets one */
  readonly withNetwork: boolean;
  /** ms for one command of the agent */
  readonly actLimitMs: number;
};

export type HarborDriver = Omit<EnvironmentDriver, 'open'> & {
  readonly open: (task: unknown, options: EpisodeOptions) => Promise<Episode>;
};

/** Data of a task, as `tasks` gives them or a line of --data. */
const TaskData = z.looseObject({
  /** a task directory, absolute or in the place */
  path: z.string(),
});

/** Tasks of Harbor in containers of this machine. @throws UsageError when no container tool is installed */
export function harborDriver(settings: HarborSettings): HarborDriver {
  const tool = containerTool(settings.tool);
  const images = createImages(tool);
  const slots = createSlots(settings.environments);
  const stopWatching = [removeAtExit(), removeWhenKilled(tool)];
  let cleared: Promise<void> | undefined;

  const start = async (
    table: EnvironmentTable,
    source: Parameters<typeof images.provide>[0],
    { id, task, signal }: Pick<EpisodeOptions, 'id' | 'signal'> & { readonly task: string },
  ): Promise<Container> => {
    const image = await images.provide(source, table.build_timeout_sec * 1000);
    return startContainer(
      tool,
      { image, lease: id, task, ...containerSettings(table, settings.withNetwork) },
      signal,
    );
  };
  return {
    tasks: (selection) => listTasks(settings, selection),
    open: async (data, options) => {
      const task = await taskOf(settings, data);
      cleared ??= removeLeftovers(tool);
      await cleared;
      const leave = await slots.enter(options.signal);
      let container: Container | undefined;
      const close = async () => {
        await container?.remove();
        leave();
      };
      try {
        container = await start(task.file.environment, imageOf(task), { ...options, task: task.name });
        const openFresh = ({ environment, image }: Grading, signal: AbortSignal) =>
          start(environment, image, { id: options.id, task: task.name, signal });
        const phases = phasesOf(task, existsSync);
        return await openEpisode(
          { ...settings, tool, task, phases, container, openFresh, close },
          options.signal,
        );
      } catch (error) {
        await close();
        throw error;
      }
    },
    close: async () => {
      // a container that is left is removed when this process ends
      if (living.size > 0) return;
      for (const stop of stopWatching) stop();
    },
  };
}

/** @throws EnvironmentFailure */
async function taskOf({ place, withNetwork }: HarborSettings, data: unknown): Promise<HarborTask> {
  const parsed = TaskData.safeParse(data);
  if (!parsed.success)
    throw environmentFailure('environment-broken', 'the task has no `path` of a task directory');
  return readTask(resolve(place, parsed.data.path), withNetwork).catch((error: Error) => {
    throw environmentFailure('environment-broken', error.message);
  });
}

/** Defaults for a container whose task does not set them. */
const [CPUS, MEMORY_MB, STORAGE_MB] = [1, 2048, 10_240];

const containerSettings = (table: EnvironmentTable, withNetwork: boolean) => ({
  cpus: table.cpus ?? CPUS,
  memoryMb: table.memory_mb ?? table.memory ?? MEMORY_MB,
  storageMb: table.storage_mb ?? table.storage ?? STORAGE_MB,
  withNetwork: withNetwork && networkOf(table) !== 'no-network',
  workdir: table.workdir,
  env: resolveVariables(table.env, process.env),
  healthcheck: table.healthcheck,
});

async function listTasks(
  { place, withNetwork }: HarborSettings,
  { split, range }: TaskSelection,
): Promise<readonly Task[]> {
  if (split !== undefined) throw new UsageError('harbor tasks have no splits: leave out --split');
  const folders = await taskFoldersIn(place);
  if (range !== undefined && range.to > folders.length)
    throw new UsageError(`${place} has ${folders.length} tasks, so --tasks cannot end at ${range.to}`);
  const chosen = range === undefined ? folders : folders.slice(range.from, range.to);
  const tasks = await Promise.all(chosen.map((folder) => readTask(folder, withNetwork)));
  return tasks.map(({ name, folder, instruction }) => ({
    name: name.replaceAll(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64),
    data: { id: name, path: folder, instruction },
  }));
}
