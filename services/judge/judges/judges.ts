import type { JudgeConfig } from '../config.ts';
import type { Judge } from './judge.ts';
import { openaiJudge } from './openai/openai.ts';
import { signalsJudge } from './signals/signals.ts';

/** Every judge there is. A new one is a file and a line here. */
const judges: { readonly [Name in JudgeConfig['kind']]: (config: JudgeConfig) => Judge } = {
  signals: () => signalsJudge,
  openai: (config) =>
    openaiJudge({
      baseUrl: config.openaiBaseUrl,
      apiKey: config.openaiApiKey,
      model: config.openaiModel,
      temperature: config.openaiTemperature,
      maxTokens: config.openaiMaxTokens,
    }),
};

export const createJudge = (config: JudgeConfig): Judge => judges[config.kind](config);
