import { stat, statfs } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { withLog } from '../../../clients/with-log.ts';
import type { CliConfig } from '../../../shared/config/cli.ts';
import { findModelHere } from '../../../shared/hub/find-model.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { initialHead } from '../../../shared/lineage/head.ts';
import { trainingMismatch } from '../../../shared/lineage/training-mismatch.ts';
import type { EventLog } from '../../../shared/log/event-log.ts';
import { readAll } from '../../../shared/log/read-topic.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoints/checkpoint.ts';
import { openBackend } from '../../../shared/policy/executors/backend.ts';
import { dataFolder } from '../../../shared/runtime/data-folder.ts';
import { diskUse } from '../../../shared/runtime/disk-use.ts';
import { readReport } from '../../../shared/runtime/judge-exam.ts';
import { makeFolder } from '../../../shared/runtime/make-folder.ts';
import { megabytes } from '../../../shared/runtime/megabytes.ts';
import { openCheckpoints } from '../../../shared/runtime/open-checkpoints.ts';
import { logExists } from '../../../shared/runtime/open-log.ts';
import { refuseForeignFolder, widerThanPrivate } from '../../../shared/runtime/private-folder.ts';
import { cautionTypes, createCautions } from '../../../shared/views/cautions.ts';
import { adaptersOf } from '../adapters.ts';
import { commonSettings } from '../config.ts';
import { readPolicies } from '../policies.ts';

export type Finding = {
  readonly state: 'ok' | 'note' | 'bad';
  readonly what: string;
  readonly advice?: string;
};

const GIGABYTE = 2 ** 30;
/** ms to wait for an answer on an open connection */
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
      advice: 'run npm run setup:native, or use --backend wasm',
    };
  }
}

export async function modelFiles(): Promise<Finding> {
  const settings = commonSettings();
  try {
    return await filesOf(settings);
  } catch (error) {
    // without a line break: the reason may be the message of a parser
    const [what = ''] = (error as Error).message.split('\n');
    return { state: 'bad', what, advice: 'give another --model, or copy or fetch it again' };
  }
}

/** @throws UnknownModel, DamagedModel, UnsupportedModel */
async function filesOf(settings: ReturnType<typeof commonSettings>): Promise<Finding> {
  const folder = findModelHere(settings);
  if (folder === undefined) {
    return {
      state: 'note',
      what: `model ${settings.model} is not downloaded yet`,
      advice: `npm start downloads it, or run clawloop model fetch ${settings.model}`,
    };
  }
  await openCheckpoint(folder);
  const { size } = await stat(join(folder, 'model.safetensors')).catch(() => ({ size: 0 }));
  return size > 0
    ? { state: 'ok', what: `model in ${folder}, ${(size / 2 ** 20).toFixed(1)} MB` }
    : {
        state: 'note',
        what: `no model.safetensors in ${folder}`,
        advice: 'fine if the weights are sharded; otherwise fetch the model',
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
      advice: 'choose another --data-folder',
    };
  }
}

export async function diskSpace(path: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(resolve(path)).catch(() => ({ bavail: 0, bsize: 0 }));
  const free = (bavail * bsize) / GIGABYTE;
  const size = free >= 1 ? `${free.toFixed(1)} GB` : `${Math.floor(free * 1024)} MB`;
  const what = `${size} free for the log and checkpoints`;
  return free >= 1
    ? { state: 'ok', what }
    : { state: 'bad', what, advice: 'free at least 1 GB; recording stops when the disk is full' };
}

/** What fills the data folder, how fast, and for how long the disk lasts. Nothing to say before the first record. */
export async function diskGrowth(settings: CliConfig): Promise<readonly Finding[]> {
  const data = dataFolder(settings.dataFolder);
  return findingsOfLog(settings, async (log) => {
    const first = await firstTimeIn(log);
    if (first === undefined) return [];
    const { free: _, perDay, daysLeft, ...kinds } = await diskUse(data, first);
    const parts = Object.entries(kinds)
      .filter(([, bytes]) => bytes > 0)
      .map(
        ([kind, bytes]) => `${kind === 'serviceLogs' ? 'logs of the services' : kind} ${megabytes(bytes)}`,
      );
    const pace =
      perDay === null
        ? 'the log is too young for a forecast'
        : `${megabytes(perDay)} a day so far, so the disk lasts ${daysLeft === null ? 'for an unknown time' : lasting(daysLeft)}`;
    const isShort = daysLeft !== null && daysLeft < SHORT_DAYS;
    return [
      {
        state: isShort ? 'bad' : 'ok',
        what: `in the data folder: ${parts.join(', ')}; ${pace}`,
        ...(isShort
          ? {
              advice:
                'move the data folder to a larger disk, keep fewer checkpoints (--trainer-keep), or remove old records: clawloop trim --keep 90d --dry-run',
            }
          : {}),
      },
    ];
  });
}

/** Days for which the disk must last. */
const SHORT_DAYS = 7;
const lasting = (days: number): string => (days > 3650 ? 'for years' : `${Math.floor(days)} days`);

/** ms since 1970 of the oldest record. Where offsets are not dense, the first one may belong to no record. */
async function firstTimeIn(log: EventLog): Promise<number | undefined> {
  if (!log.hasDenseOffsets) return undefined;
  const [starts, ends] = [await log.starts('conversations'), await log.ends('conversations')];
  const times = await Promise.all(
    starts.flatMap((offset, partition) =>
      offset < ends[partition]! ? [log.read('conversations', { partition, offset })] : [],
    ),
  );
  return times.length === 0 ? undefined : Math.min(...times.map(({ time }) => Date.parse(time)));
}

/**
 * Reports adapters that were trained in another way than the setting says.
 *
 * @param flag the value of --training; without it, running services may use another value
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
    const { storeOf, close } = openCheckpoints(settings, data);
    return Promise.all(
      adapters.map((adapter) => trainingMismatch(log, storeOf(adapter), { adapter, training })),
    ).finally(close);
  }).catch((error: Error) => [error.message]);
  return mismatches.flatMap((what) =>
    what === undefined ? [] : [{ state: flag === undefined ? 'note' : 'bad', what }],
  );
}

/** With several adapters: the head of each, by the log. */
export async function adapterHeads(settings: CliConfig): Promise<readonly Finding[]> {
  return findingsOfLog(settings, async (log) => {
    const adapters = await adaptersOf(log, settings);
    if (adapters.length < 2) return [];
    const policies = await readPolicies(log, settings);
    return adapters.map((name): Finding => {
      const policy = policies.get(name);
      const { head, open } = policy?.view.head() ?? initialHead;
      const version = policy?.loaded();
      const served =
        version === undefined ? 'not served yet' : version === head ? 'served' : `v${version} is served`;
      const batch = open === null ? '' : `, training v${open.n}`;
      return {
        state: version === head ? 'ok' : 'note',
        what: `adapter ${name}: the head is v${head}, ${served}${batch}`,
      };
    });
  });
}

/** Warnings about learning, by the log: opposite wishes, a collapsing policy, unlearned wishes. */
export const learningCautions = (settings: CliConfig): Promise<readonly Finding[]> =>
  findingsOfLog(settings, async (log) => {
    const { on, cautions } = createCautions();
    await readAll(log, ({ event }) => on(event), cautionTypes);
    return cautions().map(({ what, advice }) => ({ state: 'note', what, ...defined({ advice }) }));
  });

/** None without a log. */
async function findingsOfLog(
  settings: CliConfig,
  read: (log: EventLog) => Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  if (!logExists(settings, dataFolder(settings.dataFolder))) return [];
  return withLog(settings, read).catch((error: Error) => [{ state: 'bad', what: error.message }]);
}

/** The exam result of a judge with a model, if it was examined. */
export async function judgeExam(dataFolder: string): Promise<readonly Finding[]> {
  const report = await readReport(dataFolder);
  if (report === undefined) return [];
  const { model, text, passed } = report;
  return [{ state: passed ? 'ok' : 'bad', what: `judge ${model}: ${text}` }];
}

export async function endpoint(url: string): Promise<Finding> {
  const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
    async (response) => (await response.json()) as { ready?: boolean; missing?: string },
    () => undefined,
  );
  if (answer === undefined)
    return { state: 'note', what: `nothing answers at ${url}`, advice: 'run npm start' };
  return answer.ready === true
    ? { state: 'ok', what: `serving is ready at ${url}` }
    : { state: 'bad', what: `serving at ${url} is not ready: ${answer.missing ?? 'no reason given'}` };
}
