import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Task } from '../../rollout/read-tasks.ts';
import type { TaskSelection } from '../environment.ts';
import { EnvironmentNames, TaskCount } from './wire.ts';

/** ms; a server that lists its tasks answers at once */
const PATIENCE_MS = 30_000;

/**
 * The tasks of a server: those of its Task API, otherwise one per seed. A task's data are passed to `reset`.
 *
 * @throws UsageError when there is no such split, or the range is not in it
 */
export async function listTasks(url: string, { split, range }: TaskSelection): Promise<readonly Task[]> {
  const names = await ask(url, '/list_environments', undefined, EnvironmentNames);
  const name = names.value?.[0];
  if (name === undefined) {
    if (split !== undefined)
      throw new UsageError(`${url} lists no tasks (status ${names.status}), so --split cannot be used`);
    if (range === undefined)
      throw new UsageError(`${url} lists no tasks: give --tasks N, one per seed, or --data`);
    return indices(range).map((index) => ({ name: `seed-${index}`, data: { seed: index } }));
  }
  const chosen = split ?? 'train';
  const counted = await ask(url, `/${name}/num_tasks`, { split: chosen }, TaskCount);
  if (counted.value === undefined || counted.value.num_tasks === 0)
    throw new UsageError(
      `${url} has no split '${chosen}' (status ${counted.status}); choose another with --split`,
    );
  const count = counted.value.num_tasks;
  const { from, to } = range ?? { from: 0, to: count };
  if (to > count)
    throw new UsageError(`the split '${chosen}' has ${count} tasks, so --tasks cannot end at ${to}`);
  return indices({ from, to }).map((index) => ({
    name: `${chosen}-${index}`,
    data: { split: chosen, index },
  }));
}

/** @throws UsageError when nothing answers there */
export const checkServer = async (url: string): Promise<void> =>
  void (await ask(url, '/schema', undefined, z.unknown()));

const indices = ({ from, to }: { readonly from: number; readonly to: number }): readonly number[] =>
  Array.from({ length: to - from }, (_, offset) => from + offset);

async function ask<Schema extends z.ZodType>(
  url: string,
  path: string,
  body: object | undefined,
  schema: Schema,
): Promise<{ readonly status: number; readonly value: z.output<Schema> | undefined }> {
  const response = await fetch(`${url}${path}`, {
    signal: AbortSignal.timeout(PATIENCE_MS),
    ...(body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  }).catch((error: Error) => {
    throw new UsageError(
      `no OpenEnv server answers at ${url}: ${(error.cause as Error | undefined)?.message ?? error.message}`,
    );
  });
  const value = response.ok ? schema.safeParse(await response.json().catch(() => undefined)).data : undefined;
  return { status: response.status, value };
}
