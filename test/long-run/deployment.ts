import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccessKey } from '../../shared/runtime/access-keys.ts';
import { dataFolder as foldersIn } from '../../shared/runtime/data-folder.ts';
import { closeAll } from '../chaos/services/close-all.ts';
import type { Deployment } from '../chaos/services/deployment.ts';
import { type ServiceName, serviceNames } from '../chaos/services/plan.ts';
import { type ServiceProcess, startService } from '../chaos/services/service-process.ts';
import { canMount, mountSmallDisk } from '../chaos/services/small-disk.ts';
import { clawloop, freePort } from '../e2e/harness/clawloop.ts';

/** MB under the log; 72 hours of 200 people need a fifth of it */
const DISK_MB = 512;
const HOUR_MS = 3_600_000;

/** On the fast clock, except --sweep-ms: a timer of a few seconds. */
const settings: Readonly<Record<ServiceName, readonly string[]>> = {
  serving: [],
  collector: [
    ...['--idle-ms', String(2 * HOUR_MS), '--waited-ms', String(HOUR_MS), '--sweep-ms', '2000'],
    ...['--owed-interval-ms', '600000', '--batch-size', '24', '--max-batch-size', '24'],
  ],
  judge: ['--kind', 'openai', '--exam', 'false', '--openai-api-key', 'none', '--sweep-ms', '2000'],
  // a step takes real time
  trainer: ['--owed-interval-ms', '600000', '--step-time-limit-ms', String(7 * 24 * HOUR_MS)],
  console: [],
};

export type LongRunDeployment = Pick<
  Deployment,
  'url' | 'dataFolder' | 'services' | 'kafka' | 'redis' | 'disk' | 'setClock' | 'stopServices' | 'close'
> & {
  readonly folder: string;
  readonly keys: readonly string[];
  /** Runs a command of the release in force, on the fast clock. */
  readonly command: (...argv: readonly string[]) => ReturnType<typeof clawloop>;
  /** The program of later commands. */
  readonly useRelease: (root: string) => void;
  /** Removes the folder at the end. */
  readonly discard: () => void;
};

export const backupsIn = (folder: string): string => join(folder, 'backups');

type Options = {
  readonly people: number;
  readonly judgeUrl: string;
  readonly environment: Readonly<Record<string, string>>;
};

/** All services on a new embedded log, and an access key for each person. */
export async function deploy({ people, judgeUrl, environment }: Options): Promise<LongRunDeployment> {
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-long-run-'));
  let isKept = true;
  const closing: (() => Promise<unknown>)[] = [
    async () => {
      if (isKept) console.log(`  kept for a look: ${folder}`);
      else await rm(folder, { recursive: true, force: true });
    },
  ];
  const close = () => closeAll(closing);
  try {
    const dataFolder = join(folder, 'data');
    const logs = join(folder, 'logs');
    for (const path of [dataFolder, logs]) await mkdir(path, { recursive: true });
    const disk = canMount() ? await mountSmallDisk(join(dataFolder, 'log'), DISK_MB) : undefined;
    if (disk !== undefined) closing.push(disk.remove);
    const keys: string[] = [];
    for (let person = 0; person < people; person += 1)
      keys.push((await createAccessKey(foldersIn(dataFolder).keys, `person ${person}`)).secret);
    const services: ServiceProcess[] = [];
    const stopServices = () =>
      Promise.all(services.map(async (one) => `${one.name}: exit ${await one.stop()}`));
    closing.push(stopServices, async () => disk?.makeRoom());
    for (const name of serviceNames) {
      const port = await freePort();
      const portFlag = name === 'serving' || name === 'console' ? '--port' : '--health-port';
      const own = name === 'judge' ? ['--openai-base-url', judgeUrl] : [];
      services.push(
        startService({
          name,
          health: `http://127.0.0.1:${port}`,
          flags: ['--data-folder', dataFolder, portFlag, String(port), ...settings[name], ...own],
          logFile: join(logs, `${name}.log`),
          environment,
        }),
      );
    }
    await Promise.all(services.map(({ untilReady }) => untilReady()));
    let program: string | undefined;
    return {
      url: services[0]!.health,
      folder,
      dataFolder,
      keys,
      services,
      kafka: undefined,
      redis: undefined,
      disk,
      setClock: async () => undefined,
      command: (...argv) => clawloop(argv, environment, () => undefined, program),
      useRelease: (root) => {
        program = join(root, 'services/cli/main.ts');
      },
      discard: () => {
        isKept = false;
      },
      stopServices,
      close,
    };
  } catch (error) {
    isKept = false;
    await close();
    throw error;
  }
}
