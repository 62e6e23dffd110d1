import type { JudgeConfig } from '../../shared/config/judge.ts';

/** Whether the judge asks the ClawLoop serving service, which has seen the conversation anyway. */
export const asksOwnServing = ({ openaiBaseUrl, servingBaseUrl }: JudgeConfig): boolean =>
  new URL(openaiBaseUrl).origin === new URL(servingBaseUrl).origin;

/** Adds the key of the serving service if the judge asks it and has no key configured. No other server gets it. */
export function withServingKey(config: JudgeConfig): JudgeConfig {
  const { openaiApiKey, servingApiKey } = config;
  // a compose file sets an empty key if there is none
  return { ...config, openaiApiKey: openaiApiKey || (asksOwnServing(config) ? servingApiKey : undefined) };
}
