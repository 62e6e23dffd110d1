import { CLAW_NANO } from '../../../shared/policy/model-folder.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import type { JudgeConfig } from '../config.ts';
import { asksOwnServing } from '../own-serving.ts';
import { openEarThread } from './ear/ear-thread.ts';
import type { Judge } from './judge.ts';
import { openaiJudge } from './openai/openai.ts';
import { asItIs } from './openai/prompt.ts';
import { openSignalsThread } from './signals/signals-thread.ts';

const openai = (config: JudgeConfig): Judge => {
  const server = {
    baseUrl: config.openaiBaseUrl,
    apiKey: config.openaiApiKey,
    model: config.openaiModel,
    temperature: config.openaiTemperature,
    maxTokens: config.openaiMaxTokens,
  };
  return openaiJudge(server, asksOwnServing(config) ? asItIs : withoutSecrets);
};

/** claw-nano as it is cannot judge, whoever trained it. */
const needsEar = ({ model }: JudgeConfig): boolean => model === CLAW_NANO;

/** Every judge there is. A new one is a file and a line here. */
const judges: { readonly [Name in JudgeConfig['kind']]: (config: JudgeConfig) => Judge } = {
  auto: (config) => (needsEar(config) ? openEarThread() : openai(config)),
  ear: () => openEarThread(),
  signals: () => openSignalsThread(),
  openai,
};

export const createJudge = (config: JudgeConfig): Judge => judges[config.kind](config);

/** Who judges until a judge with a model has passed its exam, and where it fails; absent: nobody. */
export const createStandIn = ({ kind }: JudgeConfig): Judge | undefined =>
  kind === 'auto' ? openEarThread() : undefined;

/** Whether what this judge says is doubted until it has passed an exam. */
export const isExamined = (config: JudgeConfig): boolean =>
  config.exam && (config.kind === 'openai' || (config.kind === 'auto' && !needsEar(config)));
