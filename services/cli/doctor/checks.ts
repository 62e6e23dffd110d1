import { stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { findModelHere } from '../../../shared/hub/find-model.ts';
import { trainingMismatch } from '../../../shared/lineage/training-mismatch.ts';
import { openBackend } from '../../../shared/policy/backend.ts';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import { makeFolder } from '../../../shared/service/make-folder.ts';
import { logExists } from '../../../shared/service/open-log.ts';
import { refuseForeignFolder, widerThanPrivate } from '../../../shared/service/private-folder.ts';
import { adaptersOf } from '../adapters.ts';
import { type CliConfig, commonSettings } from '../config.ts';
import { readTopic } from '../read-topic.ts';
import { createPolicyView } from '../views/policy-view.ts';
import { withLog } from '../with-log.ts';

export type Finding = {
  readonly state: 'ok' | 'note' | 'bad';
  readonly what: string;
  readonly advice?: string;
};

const GIGABYTE = 2 ** 30;
/** ms until something that took the connection counts as silent */
const PATIENCE_MS = 3_000;

export const nodeVersion = (): Finding => ({
  state: 'ok',
  what: `Node ${process.version}, ${availableParallelism()} cores`,
});

export async function nativeBackend(): Promise<Finding> {
  try {
    const executor = await openBackend('auto');
    return { state: executor.kind === 'wasm' ? 'note' : 'ok', what: executor.report };
  } catch (error) {
    return {
      state: 'bad',
      what: `no backend: ${(error as Error).message}`,
      advice: 'npm run setup:native, or --backend wasm',
    };
  }
}

export async function modelFiles(): Promise<Finding> {
  const settings = commonSettings();
  const folder = findModelHere(settings);
  if (folder === undefined) {
    const fetched = `clawloop model fetch ${settings.model}`;
    return {
      state: 'note',
      what: `${settings.model} is not here yet`,
      advice: `npm start fetches it, or ${fetched}`,
    };
  }
  const { size } = await stat(join(folder, 'model.safetensors')).catch(() => ({ size: 0 }));
  return size > 0
    ? { state: 'ok', what: `model in ${folder}, ${(size / 2 ** 20).toFixed(1)} MB` }
    : {
        state: 'note',
        what: `no model.safetensors in ${folder}`,
        advice: 'sharded weights are fine; else make or fetch them',
      };
}

export async function writableFolder(path: string): Promise<Finding> {
  const folder = resolve(path);
  try {
    await refuseForeignFolder(folder);
    await makeFolder(folder);
    const wide = await widerThanPrivate(folder);
    return wide === undefined ? { state: 'ok', what: `data folder ${folder}` } : { state: 'note', ...wide };
  } catch (error) {
    return {
      state: 'bad',
      what: (error as Error).message,
      advice: 'give --data-folder',
    };
  }
}

export async function diskSpace(path: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(resolve(path)).catch(() => ({ bavail: 0, bsize: 0 }));
  const free = (bavail * bsize) / GIGABYTE;
  const what = `${free.toFixed(1)} GB free for the log and checkpoints`;
  return free >= 1
    ? { state: 'ok', what }
    : { state: 'bad', what, advice: 'free at least 1 GB: a full disk stops recording' };
}

/**
 * Whether what was learned can be gone on with; says nothing where it can.
 *
 * @param flag as it was typed; without it, what runs may have been told by a flag of its own
 */
export async function kindOfTraining(
  settings: CliConfig,
  flag: string | undefined,
): Promise<readonly Finding[]> {
  const { training } = commonSettings(flag === undefined ? [] : ['--training', flag]);
  const data = dataFolder(settings.dataFolder);
  if (!logExists(settings, data)) return [];
  const mismatches = await withLog(settings, async (log) => {
    const adapters = await adaptersOf(log, settings);
    return Promise.all(
      adapters.map((adapter) => trainingMismatch(log, data.checkpoints(adapter), { adapter, training })),
    );
  }).catch((error: Error) => [error.message]);
  return mismatches.flatMap((what) =>
    what === undefined ? [] : [{ state: flag === undefined ? 'note' : 'bad', what }],
  );
}

/** Where there are several adapters: what each of them has come to, by the log. */
export async function adapterHeads(settings: CliConfig): Promise<readonly Finding[]> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return [];
  return withLog(settings, async (log) => {
    const adapters = await adaptersOf(log, settings);
    if (adapters.length < 2) return [];
    const heads = new Map(adapters.map((name) => [name, createPolicyView(name)]));
    const loaded = new Map<string, number>();
    await readTopic(log, 'training', ({ event }) => {
      heads.get(event.subject)?.on(event);
      if (event.type === 'policy.loaded') loaded.set(event.subject, event.data.version);
    });
    return [...heads].map(([name, view]): Finding => {
      const { head, open } = view.head();
      const version = loaded.get(name);
      const served =
        version === undefined ? 'never served' : version === head ? 'served' : `v${version} is served`;
      const batch = open === null ? '' : `, a step for v${open.n} is open`;
      return {
        state: version === head ? 'ok' : 'note',
        what: `adapter ${name}: the head is v${head}, ${served}${batch}`,
      };
    });
  }).catch((error: Error): readonly Finding[] => [{ state: 'bad', what: error.message }]);
}

export async function endpoint(url: string): Promise<Finding> {
  const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
    async (response) => (await response.json()) as { ready?: boolean; missing?: string },
    () => undefined,
  );
  if (answer === undefined) return { state: 'note', what: `nothing answers at ${url}`, advice: 'npm start' };
  return answer.ready === true
    ? { state: 'ok', what: `serving is ready at ${url}` }
    : { state: 'bad', what: `serving at ${url} is not ready: ${answer.missing ?? 'no reason given'}` };
}
