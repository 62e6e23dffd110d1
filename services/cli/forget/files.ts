import { hash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseEvent } from '../../../shared/events/parse-event.ts';
import type { DataFolder } from '../../../shared/runtime/data-folder.ts';
import { writeDurably } from '../../../shared/runtime/write-durably.ts';
import type { Selection } from './selection.ts';

/** Files of the data folder, beside the log, that hold words of the selection. */
export type FoundFiles = {
  /** stored answers and events that serving set aside: they are removed */
  readonly removed: readonly string[];
  /** events that are not in the log yet: the services must append them first */
  readonly waiting: readonly string[];
  /** states of views, which serving writes anew, and what a killed backup left: all of them are removed */
  readonly snapshots: readonly string[];
  /** logs of the services, with the number of lines that repeat words: these lines are replaced */
  readonly logs: readonly { readonly path: string; readonly lines: number }[];
};

export async function findFiles(
  data: DataFolder,
  selection: Selection,
  probes: ReadonlySet<string>,
): Promise<FoundFiles> {
  const removed: string[] = [];
  const waiting: string[] = [];
  const { scope, key } = selection.target;
  const owner = `${hash('sha256', key).slice(0, 16)}-`;
  for (const path of await filesIn(data.answers)) {
    const isOfKey = scope === 'key' && basename(path).startsWith(owner);
    if (isOfKey || selection.isNamedIn(await readFile(path, 'utf8'))) removed.push(path);
  }
  for (const path of await filesIn(data.outbox)) {
    if (path.endsWith('.lock')) continue;
    const text = await readFile(path, 'utf8');
    if (path.endsWith('.json')) {
      if (selection.isNamedIn(text) || mayContinue(text, selection.target)) waiting.push(path);
    } else if (selection.isNamedIn(text) || isRepeated(text, probes)) removed.push(path);
  }
  const logs: { readonly path: string; readonly lines: number }[] = [];
  for (const path of await filesIn(data.serviceLogs)) {
    const lines = (await readFile(path, 'utf8'))
      .split('\n')
      .filter((line) => isRepeated(line, probes)).length;
    if (lines > 0) logs.push({ path, lines });
  }
  const snapshots = [...(await filesIn(data.snapshots)), ...(await filesIn(data.backupUpload))];
  return { removed, waiting, snapshots, logs };
}

/** Whether a waiting event may turn out to be of the target: a request that names no session has none until it is read. */
function mayContinue(text: string, { key }: Selection['target']): boolean {
  const parsed = parseEvent(text);
  if (parsed.kind !== 'event' || parsed.event.type !== 'interaction.completed') return false;
  const { data } = parsed.event;
  return data.key === key && data.session === undefined;
}

/** May be called again after it was interrupted. */
export async function cleanFiles(
  { removed, snapshots, logs }: FoundFiles,
  probes: ReadonlySet<string>,
): Promise<void> {
  for (const path of [...removed, ...snapshots]) await rm(path, { force: true });
  for (const { path } of logs) {
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeDurably(path, lines.map((line) => (isRepeated(line, probes) ? ERASED_LINE : line)).join('\n'));
  }
}

const ERASED_LINE = '{"level":30,"msg":"this line was erased"}';

/** As they are, or inside JSON. */
function isRepeated(line: string, probes: ReadonlySet<string>): boolean {
  const squeezed = line.replaceAll('\\n', ' ').replace(/\s+/g, ' ');
  return [...probes].some(
    (probe) => squeezed.includes(probe) || squeezed.includes(JSON.stringify(probe).slice(1, -1)),
  );
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
