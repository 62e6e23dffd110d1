import { z } from 'zod';
import { hasNoCredentials } from './logged-url.ts';

const trainingDialect = z.enum(['tinker', 'fireworks', 'skyrl-jax', 'skyrl-train', 'open-rl']);
type TrainingDialect = z.output<typeof trainingDialect>;

/** Where steps are computed. The collector takes what its defaults depend on, the trainer takes all. */
export const TrainingEngineConfig = z.object({
  trainingEngine: z
    .enum(['local', 'tinker'])
    .default('local')
    .describe(
      'where steps are computed: local, in the trainer; tinker, on a training server that speaks the Tinker API; serving then samples at temperature 1 unless a request names another. Fixed per adapter',
    ),
  trainingUrl: z
    .url({ protocol: /^https?$/ })
    .refine(hasNoCredentials, 'give the key as trainingApiKey, because the URL is logged')
    .optional()
    .describe('tinker: address of the server, before /api/v1; default TINKER_BASE_URL'),
  trainingDialect: trainingDialect
    .optional()
    .describe(
      'tinker: kind of server; default by the address: tinker or fireworks for the hosted services, otherwise skyrl-jax',
    ),
});

export const TrainingServerConfig = TrainingEngineConfig.extend({
  trainingApiKey: z
    .string()
    .optional()
    .describe(
      'tinker: API key; default TINKER_API_KEY, or FIREWORKS_API_KEY for dialect fireworks. Servers of your own usually need none',
    ),
  trainingModel: z
    .string()
    .optional()
    .describe('tinker: name of the base model on the server; default: model'),
  trainingProject: z
    .string()
    .optional()
    .describe('tinker: project that sessions belong to; default TINKER_PROJECT_ID'),
  trainingBudget: z
    .int()
    .min(0)
    .optional()
    .describe(
      'tinker: most tokens that are sent to the server, over all steps of this data folder, failed attempts included; then batches wait. Default: no limit',
    ),
  trainingParallel: z
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe('tinker: adapters whose steps run at the same time'),
});
export type TrainingServerConfig = z.output<typeof TrainingServerConfig>;

/**
 * Temperature of requests that name none; undefined: the model's advice. A training server scores at temperature 1 only,
 * so a sample at another temperature cannot be trained there.
 */
export const trainableTemperature = ({
  trainingEngine,
}: Pick<z.output<typeof TrainingEngineConfig>, 'trainingEngine'>): number | undefined =>
  trainingEngine === 'tinker' ? 1 : undefined;

type Given = Readonly<{ [Name in keyof z.output<typeof TrainingEngineConfig>]?: unknown }> & {
  readonly trainingUrl?: string | undefined;
  readonly trainingDialect?: TrainingDialect | undefined;
};

/** Address and dialect of the server, with defaults from the field's own environment variables. */
export function trainingPlace(config: Given, env: NodeJS.ProcessEnv = process.env) {
  const url = (config.trainingUrl ?? nonEmpty(env.TINKER_BASE_URL))?.replace(/\/+$/, '');
  return { url, dialect: config.trainingDialect ?? dialectAt(url) };
}

/** Key and project, with defaults from the field's own environment variables. */
export function trainingAccess(
  config: Pick<TrainingServerConfig, 'trainingApiKey' | 'trainingProject'> & Given,
  env: NodeJS.ProcessEnv = process.env,
) {
  const { dialect } = trainingPlace(config, env);
  const theirs = dialect === 'fireworks' ? env.FIREWORKS_API_KEY : env.TINKER_API_KEY;
  return {
    apiKey: config.trainingApiKey ?? nonEmpty(theirs),
    project: config.trainingProject ?? nonEmpty(env.TINKER_PROJECT_ID),
  };
}

function dialectAt(url: string | undefined): TrainingDialect {
  const host = url === undefined ? '' : new URL(url).hostname;
  if (host.endsWith('thinkingmachines.dev') || host.endsWith('thinkingmachines.ai')) return 'tinker';
  return host.endsWith('fireworks.ai') ? 'fireworks' : 'skyrl-jax';
}

/** An empty variable counts as unset. */
const nonEmpty = (value: string | undefined): string | undefined =>
  value?.trim() ? value.trim() : undefined;
