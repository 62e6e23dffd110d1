import { z } from 'zod';
import { learningMethod } from '../events/training-settings.ts';
import { ConfigError, loadConfig } from './common.ts';

/** Settings of `clawloop deploy`. Those that begin with `training` are the trainer's. */
export const DeployConfig = z.object({
  method: learningMethod
    .default('combine')
    .describe('what is learned: binary, opd (hints) or combine (both)'),
  trainingUrl: z
    .url()
    .optional()
    .describe('address of the service, without /api/v1; for fireworks that of a dedicated trainer job'),
  trainingModel: z
    .string()
    .min(1)
    .optional()
    .describe("name of the model at the service; default --model, which Fireworks' names differ from"),
  trainingBudget: z.int().min(1).optional().describe('most tokens that the service may process in all'),
  gpus: z
    .int()
    .min(1)
    .optional()
    .describe('number of GPUs that you expect; the service or its trainer job fixes it, so it is only shown'),
  dryRun: z.boolean().default(false).describe('check and print, but start nothing'),
});

export const deployTargets = ['tinker', 'fireworks'] as const;
export type DeployTarget = (typeof deployTargets)[number];

/** The variables that these services' own tools read, and the address of a service that has a fixed one. */
const targets = {
  tinker: {
    key: 'TINKER_API_KEY',
    url: 'https://tinker.thinkingmachines.dev/services/tinker-prod',
  },
  fireworks: { key: 'FIREWORKS_API_KEY', url: undefined },
} as const satisfies Record<DeployTarget, unknown>;

/** @throws ConfigError, naming what is missing */
export function deploySettings(
  target: DeployTarget,
  flags: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
) {
  const { values } = loadConfig('deploy', DeployConfig, flags, env);
  const { key, url } = targets[target];
  const apiKey = env[key]?.trim();
  if (!apiKey) throw new ConfigError(`set ${key} to your API key of the service`);
  const trainingUrl = values.trainingUrl ?? url;
  if (trainingUrl === undefined)
    throw new ConfigError(
      'give --training-url, the address of your trainer job: https://api.fireworks.ai/training/v1/rlorTrainerJobs/ACCOUNT/JOB',
    );
  if (target === 'fireworks' && values.trainingModel === undefined)
    throw new ConfigError('give --training-model, for example accounts/fireworks/models/qwen3-8b');
  const project = target === 'tinker' ? env.TINKER_PROJECT_ID?.trim() || undefined : undefined;
  return { ...values, trainingUrl, apiKey, project };
}

export type DeploySettings = ReturnType<typeof deploySettings>;
