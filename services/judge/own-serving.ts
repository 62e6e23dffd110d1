import type { JudgeConfig } from './config.ts';

/**
 * The settings with serving's key where the judge asks our own serving and was given no key of its own. To
 * any other server that key is not sent.
 */
export function withServingKey(config: JudgeConfig): JudgeConfig {
  const { openaiBaseUrl, openaiApiKey, servingBaseUrl, servingApiKey } = config;
  const isOurs = new URL(openaiBaseUrl).origin === new URL(servingBaseUrl).origin;
  // a compose file gives an empty one where there is none
  return { ...config, openaiApiKey: openaiApiKey || (isOurs ? servingApiKey : undefined) };
}
