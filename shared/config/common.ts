import { parseArgs } from 'node:util';
import { z } from 'zod';
import { trainingKind } from '../events/training-settings.ts';
import { HubConfig } from '../hub/config.ts';
import { CheckpointsConfig } from './checkpoints.ts';
import { LogConfig } from './log.ts';
import { QueueConfig } from './queue.ts';
import { describeSettings, readSetting, type Setting } from './settings.ts';
import { TrainingServerConfig } from './training-server.ts';

export const adapterName = z.string().regex(/^[a-z0-9-]+$/, 'use only lower-case letters, digits and -');

/** Settings of every service. */
export const CommonConfig = z.object({
  dataFolder: z.string().default('.clawloop').describe('folder for log, checkpoints, keys and outbox'),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('minimum severity of log lines; message content is only logged at debug'),
  adapters: z
    .array(adapterName)
    .min(1)
    .refine((names) => new Set(names).size === names.length, 'an adapter is named twice')
    .default(['default'])
    .describe('adapters to serve and train, separated by commas; the first is the default'),
  model: z
    .string()
    .default('claw-nano')
    .describe(
      'claw-nano, claw-nano-tools, a folder in Hugging Face format (Llama, Qwen2, Qwen3), or a hub id, owner/name[@revision]',
    ),
  ...HubConfig.shape,
  training: trainingKind
    .default('lora')
    .describe(
      'what to train: lora, a small adapter over frozen weights, or full, all weights; fixed per adapter',
    ),
  backend: z
    .enum(['auto', 'native', 'wasm'])
    .default('auto')
    .describe('compute backend; native (needs npm run setup:native) trains several times faster than wasm'),
  partitions: z
    .int()
    .min(1)
    .max(64)
    .default(3)
    .describe('partitions per topic; fixed when the log is created'),
  sessionTimeoutMs: z
    .int()
    .min(500)
    .default(6000)
    .describe('ms until a dead consumer group member loses its partitions'),
  healthHost: z.string().default('127.0.0.1').describe('address of the health port'),
  otlpEndpoint: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'base URL of an OpenTelemetry receiver (OTLP/HTTP), such as http://127.0.0.1:4318, that gets a trace of every request; default: none',
    ),
  ...LogConfig.shape,
});

/** Settings whose variables have no service name, because one value fits all services. */
const shared: ReadonlySet<string> = new Set([
  ...Object.keys(CommonConfig.shape),
  ...Object.keys(QueueConfig.shape),
  ...Object.keys(TrainingServerConfig.shape),
  ...Object.keys(CheckpointsConfig.shape),
]);

type ConfigSource = 'default' | 'env' | 'flag';

export type LoadedConfig<Values> = {
  readonly values: Values;
  readonly settings: readonly Setting[];
  readonly sources: Readonly<Record<string, ConfigSource>>;
};

/** Thrown for an unknown flag or invalid value; `message` is for the user. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Loads a service's settings: a flag overrides its environment variable, which overrides the default.
 * @throws ConfigError
 */
export function loadConfig<Shape extends z.ZodRawShape>(
  service: string,
  schema: z.ZodObject<Shape>,
  argv: readonly string[] = process.argv.slice(2),
  env: NodeJS.ProcessEnv = process.env,
): LoadedConfig<z.output<z.ZodObject<Shape>>> {
  const settings = describeSettings(schema as unknown as z.ZodObject, service, shared);
  const flags = parseFlags(settings, argv);
  const sources: Record<string, ConfigSource> = {};
  const input: Record<string, unknown> = {};
  for (const setting of settings) {
    const text = flags.get(setting.name) ?? env[setting.env];
    sources[setting.name] = flags.has(setting.name) ? 'flag' : text === undefined ? 'default' : 'env';
    if (text !== undefined) input[setting.name] = readSetting(setting, text);
  }
  const parsed = schema.safeParse(input);
  if (parsed.success) return { values: parsed.data, settings, sources };
  const problems = parsed.error.issues.map((issue) => {
    const setting = settings.find(({ name }) => name === issue.path[0]);
    const text = setting && (flags.get(setting.name) ?? env[setting.env]);
    return `${setting?.flag ?? issue.path.join('.')} (${setting?.env}) ${problemOf(issue, text)}`;
  });
  throw new ConfigError(problems.join('\n'));
}

/** What is wrong with the text of a setting, in words of a user rather than of the schema. */
function problemOf(issue: z.core.$ZodIssue, text = ''): string {
  if (issue.code === 'invalid_type' && (issue.expected === 'number' || issue.expected === 'int'))
    return `must be a ${issue.expected === 'int' ? 'whole ' : ''}number, not '${text}'`;
  if (issue.code === 'too_big' && issue.origin === 'number')
    return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}, not ${text}`;
  if (issue.code === 'too_small' && issue.origin === 'number')
    return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}, not ${text}`;
  if (issue.code === 'invalid_value')
    return `must be ${issue.values.map((value) => `'${String(value)}'`).join(' or ')}, not '${text}'`;
  return `is invalid: ${issue.message}`;
}

function parseFlags(settings: readonly Setting[], argv: readonly string[]): ReadonlyMap<string, string> {
  const options = Object.fromEntries(
    settings.map((setting) => [setting.flag.slice(2), { type: 'string' as const }]),
  );
  try {
    const args = [...spellSwitches(settings, argv)];
    const { values } = parseArgs({ args, options, strict: true, allowPositionals: false });
    return new Map(
      settings.flatMap((setting) => {
        const value = values[setting.flag.slice(2)];
        return typeof value === 'string' ? [[setting.name, value] as const] : [];
      }),
    );
  } catch (error) {
    throw new ConfigError(firstSentence((error as Error).message));
  }
}

/** `--kafka-ssl` alone means `--kafka-ssl true`. */
export const spellSwitches = (settings: readonly Setting[], argv: readonly string[]): readonly string[] =>
  argv.flatMap((word, index) => {
    const setting = settings.find(({ flag }) => flag === word);
    const next = argv[index + 1];
    const isAlone = setting?.type === 'boolean' && (next === undefined || next.startsWith('-'));
    return isAlone ? [word, 'true'] : [word];
  });

/** Node's message about an unknown flag, without its advice on passing it as a positional argument. */
export const firstSentence = (message: string): string => message.split('. ')[0]!;

/** Every value with its source, secrets masked, for the line that a service logs at start. */
export function printableConfig({ values, settings, sources }: LoadedConfig<object>): Record<string, string> {
  const byName = values as Record<string, unknown>;
  return Object.fromEntries(
    settings.map(({ name, secret }) => {
      const value = byName[name];
      const shown = secret && value !== undefined && value !== '' ? '***' : JSON.stringify(value ?? null);
      return [name, `${shown} (${sources[name]})`];
    }),
  );
}

/** The text of `--help`; `command`: the name to show, if not the service's. */
export const helpText = (service: string, schema: z.ZodObject, command = service): string =>
  `clawloop ${command} [options]\n\n${settingRows(service, schema)}\n`;

/** Two lines per setting: flag and meaning, variable and default. */
export const settingRows = (service: string, schema: z.ZodObject): string =>
  describeSettings(schema, service, shared)
    .map(
      ({ flag, env, default: value, about }) =>
        `  ${flag.padEnd(28)} ${about}\n${''.padEnd(31)}${env}, default ${JSON.stringify(value ?? null)}`,
    )
    .join('\n');

export const describeService = (service: string, schema: z.ZodObject): readonly Setting[] =>
  describeSettings(schema, service, shared);
