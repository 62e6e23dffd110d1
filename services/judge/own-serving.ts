import type { JudgeConfig } from './config.ts';

/** Whether the judge asks our own serving, which has seen the conversation anyway. */
export const asksOwnServing = ({ openaiBaseUrl, servingBaseUrl }: JudgeConfig): boolean =>
  new URL(openaiBaseUrl).origin === new URL(servingBaseUrl).origin;

/**
 * The settings with serving's key where the judge asks our own serving and was given no key of its own. To
 * any other server that key is not sent.
 */
export function withServingKey(config: JudgeConfig): JudgeConfig {
  const { openaiApiKey, servingApiKey } = config;
  // a compose file gives an empty one where there is none
  return { ...config, openaiApiKey: openaiApiKey || (asksOwnServing(config) ? servingApiKey : undefined) };
}
