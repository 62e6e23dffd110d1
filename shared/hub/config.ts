import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** Settings for models on the hub, taken by every service that loads a model. */
export const HubConfig = z.object({
  hubCache: z
    .string()
    .optional()
    .describe("folder of downloaded models; default Hugging Face's own: HF_HUB_CACHE, HF_HOME/hub, ~/.cache"),
  hubToken: z
    .string()
    .regex(/^hf_/, 'a hub token begins with hf_')
    .optional()
    .describe('token for gated and private models; default HF_TOKEN'),
  hubUrl: z
    .url()
    .optional()
    .describe('address of the hub; default HF_ENDPOINT, otherwise https://huggingface.co'),
  hubPlainHttp: z
    .boolean()
    .default(false)
    .describe('allow plain http to a hub on another machine, where others can alter its responses'),
});
export type HubConfig = z.output<typeof HubConfig>;
/** Input form: settings with a default are optional. */
export type GivenHubConfig = z.input<typeof HubConfig>;

export type HubSettings = {
  readonly cache: string;
  readonly token: string | undefined;
  readonly url: string;
  readonly plainHttp: boolean;
};

/**
 * Fills in defaults from the environment variables of Hugging Face's tools, so that both find each other's
 * downloads.
 */
export function hubSettings(config: GivenHubConfig, env: NodeJS.ProcessEnv = process.env): HubSettings {
  const home =
    nonEmpty(env.HF_HOME) ?? join(nonEmpty(env.XDG_CACHE_HOME) ?? join(homedir(), '.cache'), 'huggingface');
  return {
    cache: resolve(config.hubCache ?? nonEmpty(env.HF_HUB_CACHE) ?? join(home, 'hub')),
    token: config.hubToken ?? nonEmpty(env.HF_TOKEN),
    plainHttp: config.hubPlainHttp ?? false,
    url: (config.hubUrl ?? nonEmpty(env.HF_ENDPOINT) ?? 'https://huggingface.co').replace(/\/+$/, ''),
  };
}

/** An empty variable counts as unset. */
const nonEmpty = (value: string | undefined): string | undefined =>
  value?.trim() ? value.trim() : undefined;
