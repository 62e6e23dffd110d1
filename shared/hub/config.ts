import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';

/** Where models come from that are named by a hub's id: what every service that computes takes. */
export const HubConfig = z.object({
  hubCache: z
    .string()
    .optional()
    .describe("folder of fetched models; else Hugging Face's own: HF_HUB_CACHE, HF_HOME/hub, ~/.cache"),
  hubToken: z
    .string()
    .regex(/^hf_/, 'a token of the hub begins with hf_')
    .optional()
    .describe('token for gated and private models; else HF_TOKEN'),
  hubUrl: z.url().optional().describe('address of the hub; else HF_ENDPOINT, else https://huggingface.co'),
  hubPlainHttp: z
    .boolean()
    .default(false)
    .describe('a hub beyond this machine may be asked by plain http, where others can change what it sends'),
});
export type HubConfig = z.output<typeof HubConfig>;
/** Of those that have a default, any may be left out. */
export type GivenHubConfig = z.input<typeof HubConfig>;

export type HubSettings = {
  readonly cache: string;
  readonly token: string | undefined;
  readonly url: string;
  readonly plainHttp: boolean;
};

/**
 * What holds after the variables that other tools of Hugging Face read too, so that a model which one of them
 * fetched is found, and the other way round.
 */
export function hubSettings(config: GivenHubConfig, env: NodeJS.ProcessEnv = process.env): HubSettings {
  const home =
    given(env.HF_HOME) ?? join(given(env.XDG_CACHE_HOME) ?? join(homedir(), '.cache'), 'huggingface');
  return {
    cache: resolve(config.hubCache ?? given(env.HF_HUB_CACHE) ?? join(home, 'hub')),
    token: config.hubToken ?? given(env.HF_TOKEN),
    plainHttp: config.hubPlainHttp ?? false,
    url: (config.hubUrl ?? given(env.HF_ENDPOINT) ?? 'https://huggingface.co').replace(/\/+$/, ''),
  };
}

/** A variable that is set to nothing counts as not set. */
const given = (value: string | undefined): string | undefined => (value?.trim() ? value.trim() : undefined);
