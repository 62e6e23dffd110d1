import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Task } from '../../rollout/read-tasks.ts';
import type { TaskSelection } from '../environment.ts';
import { environmentFailure } from '../environment-failure.ts';

/** A page, and the seed that determines its question. */
const PageTask = z.looseObject({ page: z.string(), seed: z.int().nonnegative().optional() });

/** The pages of a folder. */
export type Pages = {
  /** absolute; all that the pages load is below it */
  readonly folder: string;
  /** without `.html`, sorted */
  readonly names: readonly string[];
};

/** Where the pages are in what `pip install --target` or unzipping the package leaves behind. */
const PLACES = ['.', 'html', 'miniwob/html'];

/** @throws UsageError when the folder has no pages of MiniWoB++ */
export function findPages(place: string): Pages {
  const folder = PLACES.map((inside) => resolve(place, inside)).find(
    (candidate) => existsSync(join(candidate, 'core/core.js')) && existsSync(join(candidate, 'miniwob')),
  );
  if (place === '' || folder === undefined)
    throw new UsageError(
      `--env miniwob:FOLDER needs the pages of MiniWoB++, which are not in '${place}': run \`python3 -m pip install --no-deps --target pages miniwob==1.1.0\` and give miniwob:pages`,
    );
  const files = readdirSync(join(folder, 'miniwob')).filter((name) => name.endsWith('.html'));
  return { folder, names: files.map((name) => name.slice(0, -'.html'.length)).sort() };
}

/**
 * Task i is page i modulo their number, with the seed i divided by their number. So each further round over the
 * pages has a further seed, and ranges that do not overlap share no task.
 *
 * @param selection its split names the pages, separated by commas; no split: all pages. No range: seed 0 of each
 * @throws UsageError for an unknown page
 */
export function listPageTasks({ names }: Pages, { split, range }: TaskSelection): readonly Task[] {
  const pages = split === undefined ? names : split.split(',').map((name) => name.trim());
  const unknown = pages.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--split names the page '${unknown}', which is not among: ${names.join(', ')}`);
  const { from, to } = range ?? { from: 0, to: pages.length };
  return Array.from({ length: to - from }, (_, offset) => {
    const [page, seed] = [pages[(from + offset) % pages.length]!, Math.floor((from + offset) / pages.length)];
    return { name: `${page}-${seed}`, data: { page, seed } };
  });
}

/**
 * Reads a task as `listPageTasks` or a line of `--data` gives it.
 *
 * @param seed of a task that has none
 * @throws EnvironmentFailure `environment-broken` when it names no page of the folder
 */
export function readPageTask(task: unknown, { names }: Pages, seed: number) {
  const parsed = PageTask.safeParse(task);
  if (parsed.success && names.includes(parsed.data.page))
    return { page: parsed.data.page, seed: parsed.data.seed ?? seed };
  throw environmentFailure(
    'environment-broken',
    `a task must name a page, as {"page":"click-test-2","seed":1} does: ${JSON.stringify(task)}`,
  );
}
