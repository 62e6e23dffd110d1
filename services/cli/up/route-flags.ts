import type { z } from 'zod';
import { CheckpointsConfig } from '../../../shared/config/checkpoints.ts';
import { CollectorConfig } from '../../../shared/config/collector.ts';
import { CommonConfig } from '../../../shared/config/common.ts';
import { ConsoleConfig } from '../../../shared/config/console.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import { QueueConfig } from '../../../shared/config/queue.ts';
import { ServingConfig } from '../../../shared/config/serving.ts';
import { TrainerConfig } from '../../../shared/config/trainer.ts';
import { TrainingServerConfig } from '../../../shared/config/training-server.ts';
import { UpConfig } from '../../../shared/config/up.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { UsageError } from '../../../shared/runtime/command-errors.ts';
import { flagsOf } from '../config.ts';
import { type ServiceName, serviceNames } from '../service-entry.ts';

export type RoutedFlags = {
  /** for every service: `--data-folder X` */
  readonly shared: readonly string[];
  readonly byService: Readonly<Record<ServiceName, string[]>>;
  /** of `up` itself */
  readonly up: readonly string[];
  /** whether the console runs too */
  readonly hasConsole: boolean;
  /** folder for sessions that have ended; undefined: no export */
  readonly sessionsExport?: string;
};

/**
 * Splits the flags of `up` among the services: `--judge-votes 5` is the judge's `--votes 5`. Flags that all
 * services share have no prefix; nor have some of serving's, such as `--port`, and those of the queues, of a training server
 * and of the bucket.
 */
export function routeFlags(argv: readonly string[]): RoutedFlags {
  const shared: string[] = [];
  const up: string[] = [];
  let sessionsExport: string | undefined;
  const byService: Record<ServiceName, string[]> = {
    serving: [],
    collector: [],
    judge: [],
    trainer: [],
    console: [],
  };
  let hasConsole = true;
  for (let index = 0; index < argv.length; index++) {
    const [flag = '', inline] = argv[index]!.split(/=(.*)/s);
    if (!flag.startsWith('--'))
      throw new UsageError(
        `'${flag}' is not a flag; with npm, put two dashes before the flags: npm start -- --port 8700`,
      );
    if (flag === '--no-console') {
      hasConsole = false;
      continue;
    }
    const next = argv[index + 1];
    const value = inline ?? (next !== undefined && !next.startsWith('--') ? argv[++index] : undefined);
    if (flag === '--sessions-export') {
      if (!value) throw new UsageError('--sessions-export takes a folder');
      sessionsExport = value;
      continue;
    }
    const words = value === undefined ? [] : [value];
    if (upFlags.has(flag)) {
      up.push(flag, ...words);
      continue;
    }
    const targets = targetsOf(flag);
    if (targets === 'all') shared.push(flag, ...words);
    else for (const [service, name] of targets) byService[service].push(name, ...words);
  }
  return { shared, byService, up, hasConsole, ...defined({ sessionsExport }) };
}

const schemas = {
  serving: ServingConfig,
  collector: CollectorConfig,
  judge: JudgeConfig,
  trainer: TrainerConfig,
  console: ConsoleConfig,
};
const flagsByService = Object.fromEntries(
  serviceNames.map((name) => [name, flagsOf(schemas[name] as unknown as z.ZodObject, name)]),
) as Readonly<Record<ServiceName, ReadonlySet<string>>>;

const upFlags = flagsOf(UpConfig as unknown as z.ZodObject, 'up');
const commonFlags = flagsOf(CommonConfig as unknown as z.ZodObject);
/** Flags of several services, but not of all. */
const partlySharedFlags = flagsOf(
  QueueConfig.extend(TrainingServerConfig.shape).extend(CheckpointsConfig.shape) as unknown as z.ZodObject,
);

/** Flags of serving that need no prefix. */
const endpointFlags = flagsOf(
  ServingConfig.pick({
    host: true,
    port: true,
    apiKey: true,
    apiKeyFile: true,
    context: true,
    systemBudget: true,
  }) as unknown as z.ZodObject,
);

/** The services that take a flag of `up`, each with its name there. @throws UsageError when there is none */
function targetsOf(flag: string): 'all' | readonly (readonly [ServiceName, string])[] {
  const service = serviceNames.find((name) => flag.startsWith(`--${name}-`));
  if (service !== undefined) {
    // the judge's `--judge-model` begins with its name wherever it is given
    const hasPrefix = flagsByService[service].has(flag);
    return [[service, hasPrefix ? flag : `--${flag.slice(service.length + 3)}`]];
  }
  if (endpointFlags.has(flag)) return [['serving', flag]];
  if (partlySharedFlags.has(flag))
    return serviceNames.filter((name) => flagsByService[name].has(flag)).map((name) => [name, flag]);
  if (commonFlags.has(flag)) return 'all';
  throw new UsageError(
    `Unknown option '${flag}'. Flags of a single service begin with its name (--judge-votes is the judge's ` +
      '--votes); see docs/operate/configuration.md',
  );
}
