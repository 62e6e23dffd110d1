import { z } from 'zod';
import { CheckpointsConfig } from '../../shared/config/checkpoints.ts';
import { CliConfig } from '../../shared/config/cli.ts';
import { CollectorConfig } from '../../shared/config/collector.ts';
import { CommonConfig, describeService, loadConfig } from '../../shared/config/common.ts';
import { ConsoleConfig } from '../../shared/config/console.ts';
import { JudgeConfig } from '../../shared/config/judge.ts';
import { ServingConfig } from '../../shared/config/serving.ts';
import { TrainerConfig } from '../../shared/config/trainer.ts';
import { UpConfig } from '../../shared/config/up.ts';
import { HubConfig } from '../../shared/hub/config.ts';
import { allocatorEnvironment } from '../../shared/policy/executors/native-environment.ts';
import type { ServiceName } from './service-entry.ts';

/** Settings of `clawloop model`. */
export const ModelConfig = CommonConfig.pick({ model: true, backend: true }).extend({
  ...HubConfig.shape,
  tokens: z.int().min(8).default(512).describe('length of the training sample that memory is estimated for'),
  ...CliConfig.shape,
});

export const modelSettings = (flags: readonly string[]) => loadConfig('cli', ModelConfig, flags).values;

/**
 * The part of serving's settings that says where it listens. `up` and its clients must know the port in
 * advance, so 0 (any free port) is refused. Serving checks the access key; clients send it as it is.
 */
const EndpointConfig = ServingConfig.pick({ host: true, apiKeyFile: true }).extend({
  apiKey: z.string().optional().describe('access key of the endpoint'),
  port: ServingConfig.shape.port.refine((port) => port > 0, 'the cli needs a fixed port, not 0'),
});

export const endpointSettings = (servingFlags: readonly string[]) =>
  loadPart('serving', EndpointConfig, servingFlags).values;

export const engineSettings = (servingFlags: readonly string[]) =>
  loadPart('serving', ServingConfig.pick({ engine: true }), servingFlags).values;

/** The batch settings that the live line shows and that bound serving's open sessions. */
export const batchSettings = (collectorFlags: readonly string[]) =>
  loadPart(
    'collector',
    CollectorConfig.pick({ batchSize: true, maxBatchSize: true, maxStaleness: true }),
    collectorFlags,
  ).values;

/** Settings of `clawloop up` itself. */
export const upSettings = (flags: readonly string[]) => loadConfig('up', UpConfig, flags).values;

export const judgeServerSettings = (judgeFlags: readonly string[]) => {
  const { values, sources } = loadPart(
    'judge',
    JudgeConfig.pick({ openaiBaseUrl: true, openaiApiKey: true, judgeModel: true }),
    judgeFlags,
  );
  return { ...values, hasOwnServer: sources.openaiBaseUrl !== 'default' };
};

/** Where the console will listen; `up` prints it, so port 0 is refused. */
const ConsoleEndpoint = ConsoleConfig.pick({ host: true, apiKey: true, apiKeyFile: true }).extend({
  port: ConsoleConfig.shape.port.refine((port) => port > 0, 'the cli needs a fixed port, not 0'),
});

export const consoleSettings = (consoleFlags: readonly string[]) =>
  loadPart('console', ConsoleEndpoint, consoleFlags).values;

const healthPart = { healthHost: true, healthPort: true } as const;
/** Services with a health port. Serving has none: it reports health at its endpoint. */
const healthConfigs = {
  collector: CollectorConfig.pick(healthPart),
  judge: JudgeConfig.pick(healthPart),
  trainer: TrainerConfig.pick(healthPart),
} as const;
export type HealthService = keyof typeof healthConfigs;
export const healthServices = Object.keys(healthConfigs) as readonly HealthService[];

export const healthSettings = (service: HealthService, flags: readonly string[]) =>
  loadPart(service, healthConfigs[service], flags).values;

/** The key of a session when no option gives it: `CLAWLOOP_SESSION_KEY`. */
const SessionConfig = z.object({ key: z.string().optional().describe('key of a session') });

export const sessionKeySetting = () => loadConfig('session', SessionConfig, []).values.key;

/** Loads some of a service's settings and ignores the flags of the others. @throws ConfigError */
function loadPart<Shape extends z.ZodRawShape>(
  service: ServiceName,
  schema: z.ZodObject<Shape>,
  flags: readonly string[],
) {
  return loadConfig(service, schema, withNames(flags, flagsOf(schema as unknown as z.ZodObject, service)));
}

/** Names of the flags that a schema takes. */
export const flagsOf = (schema: z.ZodObject, service = 'cli'): ReadonlySet<string> =>
  new Set(describeService(service, schema).map(({ flag }) => flag));

/** The common flags that commands take too: where the data and the log are. */
export const commandFlags = (shared: readonly string[]): readonly string[] =>
  withNames(shared, flagsOf(CliConfig as unknown as z.ZodObject));

/** Of a service's flags, those that say how to reach a bucket. */
export const bucketFlags = (flags: readonly string[]): readonly string[] =>
  withNames(flags, flagsOf(CheckpointsConfig as unknown as z.ZodObject));

export const commonSettings = (flags: readonly string[] = []) =>
  loadConfig('cli', CommonConfig, flags).values;

/**
 * Environment of a service: this process's environment, the allocator settings unless already set, and
 * secrets, which `ps` would show on a command line.
 */
export const environmentWith = (secrets: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...allocatorEnvironment,
  ...process.env,
  ...secrets,
});

/** Environment of a temporary server: ignores the settings of this machine's server, except the backend. */
export const temporaryServerEnvironment = (): NodeJS.ProcessEnv => ({
  ...allocatorEnvironment,
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('CLAWLOOP_') || name === 'CLAWLOOP_BACKEND',
    ),
  ),
});

/** Keeps the flags with these names, each with its value if it has one. */
function withNames(flags: readonly string[], names: ReadonlySet<string>): readonly string[] {
  let isKept = false;
  return flags.filter((word) => {
    if (word.startsWith('--')) isKept = names.has(word);
    return isKept;
  });
}
