import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import type { JudgeConfig } from '../config.ts';
import { asksOwnServing } from '../own-serving.ts';
import type { Judge } from './judge.ts';
import { openaiJudge } from './openai/openai.ts';
import { asItIs } from './openai/prompt.ts';
import { openSignalsThread } from './signals/signals-thread.ts';

/** Every judge there is. A new one is a file and a line here. */
const judges: { readonly [Name in JudgeConfig['kind']]: (config: JudgeConfig) => Judge } = {
  signals: () => openSignalsThread(),
  openai: (config) => {
    const server = {
      baseUrl: config.openaiBaseUrl,
      apiKey: config.openaiApiKey,
      model: config.openaiModel,
      temperature: config.openaiTemperature,
      maxTokens: config.openaiMaxTokens,
    };
    return openaiJudge(server, asksOwnServing(config) ? asItIs : withoutSecrets);
  },
};

export const createJudge = (config: JudgeConfig): Judge => judges[config.kind](config);
