import { z } from 'zod';
import { HubConfig } from '../../shared/hub/config.ts';
import { allocatorEnvironment } from '../../shared/policy/executors/native-environment.ts';
import { CommonConfig, describeService, loadConfig } from '../../shared/service/config.ts';
import { LogConfig } from '../../shared/service/log-config.ts';

/** What every command takes: where the data are, which adapters it is about, and the log. */
export const CliConfig = CommonConfig.pick({ dataFolder: true })
  .extend({
    adapters: CommonConfig.shape.adapters
      .unwrap()
      .optional()
      .describe('the adapters that a command is about; all that the log knows unless told'),
  })
  .extend(LogConfig.shape);
export type CliConfig = z.output<typeof CliConfig>;

/**
 * Of serving's settings, those that say where it listens; its own process reads them from the same flags and
 * variables.
 */
const EndpointConfig = z.object({
  host: z.string().default('127.0.0.1').describe('address of the endpoint'),
  port: z.int().min(1).max(65_535).default(8700).describe('port of the endpoint'),
  apiKey: z.string().optional().describe('an access key'),
  apiKeyFile: z.string().optional().describe('file of an access key'),
});

/** What `clawloop model` takes: which model, where it comes from, and what computes. */
export const ModelConfig = CommonConfig.pick({ model: true, backend: true }).extend({
  ...HubConfig.shape,
  tokens: z.int().min(8).default(512).describe('length of a training sample that memory is estimated for'),
  ...CliConfig.shape,
});

export const modelSettings = (flags: readonly string[]) => loadConfig('cli', ModelConfig, flags).values;

/** Of the collector's settings, what the live line shows and what serving's room for sessions follows from. */
const BatchConfig = z.object({
  batchSize: z.int().min(1).optional().describe('samples per batch'),
  maxBatchSize: z.int().min(1).optional().describe('samples of the largest batches'),
  maxStaleness: z.int().min(0).optional().describe('versions that a sample may be behind the head'),
});

/** Of the judge's settings, where its model is, if it has one. */
const JudgeServerConfig = z.object({
  openaiBaseUrl: z.string().optional().describe("the judge's server"),
  openaiApiKey: z.string().optional().describe("key of the judge's server"),
  judgeModel: z.string().optional().describe('the model that the judge runs itself'),
});

export const judgeServerSettings = (judgeFlags: readonly string[]) =>
  loadConfig(
    'judge',
    JudgeServerConfig,
    ofThese(judgeFlags, ['--openai-base-url', '--openai-api-key', '--judge-model']),
  ).values;

export const endpointSettings = (servingFlags: readonly string[]) =>
  loadConfig(
    'serving',
    EndpointConfig,
    ofThese(servingFlags, ['--host', '--port', '--api-key', '--api-key-file']),
  ).values;

/** Of serving's settings, who generates. */
const EngineConfig = z.object({
  engine: z.enum(['local', 'upstream']).default('local').describe('who generates'),
});

export const engineSettings = (servingFlags: readonly string[]) =>
  loadConfig('serving', EngineConfig, ofThese(servingFlags, ['--engine'])).values;

/** Of a service's settings, where it tells its health. */
const HealthConfig = CommonConfig.pick({ healthHost: true }).extend({
  healthPort: z.int().min(0).max(65_535).optional().describe('port of /healthz, /readyz and /metrics'),
});

export const healthSettings = (service: string, flags: readonly string[]) =>
  loadConfig(service, HealthConfig, ofThese(flags, ['--health-host', '--health-port'])).values;

/** Where the key of a session stands unless an option tells it: `CLAWLOOP_SESSION_KEY`. */
const SessionConfig = z.object({ key: z.string().optional().describe('key of a session') });

export const sessionKeySetting = () => loadConfig('session', SessionConfig, []).values.key;

export const batchSettings = (collectorFlags: readonly string[]) =>
  loadConfig(
    'collector',
    BatchConfig,
    ofThese(collectorFlags, ['--batch-size', '--max-batch-size', '--max-staleness']),
  ).values;

/** Of flags that all services take, those that commands take too: where the data and the log are. */
export function commandFlags(shared: readonly string[]): readonly string[] {
  const flags = describeService('cli', CliConfig as unknown as z.ZodObject).map(({ flag }) => flag);
  let isTaken = false;
  return shared.filter((word) => {
    if (word.startsWith('--')) isTaken = flags.includes(word);
    return isTaken;
  });
}

export const commonSettings = (flags: readonly string[] = []) =>
  loadConfig('cli', CommonConfig, flags).values;

/**
 * The environment of a service: this process's own, what its memory is allocated by unless that is set, and
 * secrets that no flag should show to `ps`.
 */
export const environmentWith = (secrets: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...allocatorEnvironment,
  ...process.env,
  ...secrets,
});

/**
 * For a server of its own, beside the one that this machine is set up for: none of that one's settings but
 * what computes.
 */
export const environmentOfItsOwn = (): NodeJS.ProcessEnv => ({
  ...allocatorEnvironment,
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith('CLAWLOOP_') || name === 'CLAWLOOP_BACKEND',
    ),
  ),
});

/** The flags with these names, each with its value. */
function ofThese(flags: readonly string[], names: readonly string[]): readonly string[] {
  return flags.flatMap((flag, index) => (names.includes(flag) ? [flag, flags[index + 1] ?? ''] : []));
}
