import { UsageError } from '../../shared/runtime/command-errors.ts';

export type Task = {
  /** its `id` or `task_id`; otherwise its line number */
  readonly name: string;
  readonly data: unknown;
};

const NAME_LENGTH = 64;

/**
 * Reads the tasks of a JSONL file. Session ids begin with a task's name, so it has only letters, digits, `.`,
 * `_` and `-`.
 *
 * @throws UsageError naming a line that is not JSON, or when there is no task
 */
export function readTasks(text: string, path: string): readonly Task[] {
  const tasks = text.split('\n').flatMap((line, index): readonly Task[] => {
    if (line.trim() === '') return [];
    const data = parseLine(line, `${path}:${index + 1}`);
    return [{ name: nameOf(data) ?? `task-${index + 1}`, data }];
  });
  if (tasks.length === 0) throw new UsageError(`${path} has no tasks`);
  return tasks;
}

function parseLine(line: string, place: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    throw new UsageError(`${place} is not JSON: ${(error as Error).message}`);
  }
}

function nameOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { id, task_id: taskId } = data as { readonly id?: unknown; readonly task_id?: unknown };
  const name = id ?? taskId;
  if (typeof name !== 'string' && typeof name !== 'number') return undefined;
  const plain = String(name)
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .slice(0, NAME_LENGTH);
  return plain === '' ? undefined : plain;
}
