import type { FetchModelOptions } from '../../../shared/hub/fetch-model.ts';
import { findModel } from '../../../shared/hub/find-model.ts';
import { CLAW_NANO } from '../../../shared/policy/model-folder.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
import { ConfigError } from '../../../shared/service/config.ts';
import type { JudgeConfig } from '../config.ts';
import { asksOwnServing } from '../own-serving.ts';
import { openEarThread } from './ear/ear-thread.ts';
import type { Judge } from './judge.ts';
import { openModelJudge } from './model/model-judge.ts';
import { openaiJudge } from './openai/openai.ts';
import { asItIs } from './openai/prompt.ts';
import { openSignalsThread } from './signals/signals-thread.ts';

type Kind = JudgeConfig['kind'];
type Create = (config: JudgeConfig, fetching: FetchModelOptions) => Judge;

const openai: Create = (config) => {
  const server = {
    baseUrl: config.openaiBaseUrl,
    apiKey: config.openaiApiKey,
    model: config.openaiModel,
    temperature: config.openaiTemperature,
    maxTokens: config.openaiMaxTokens,
  };
  return openaiJudge(server, asksOwnServing(config) ? asItIs : withoutSecrets);
};

const model: Create = (config, fetching) => {
  const { judgeModel, backend, modelTemperature: temperature, modelMaxTokens: maxTokens } = config;
  if (judgeModel === undefined)
    throw new ConfigError('the judge `model` needs the name of one: --judge-model (CLAWLOOP_JUDGE_MODEL)');
  return openModelJudge(judgeModel, async () => {
    const folder = await findModel({ ...config, model: judgeModel }, fetching);
    return { folder, backend, temperature, maxTokens };
  });
};

/** Every judge there is. A new one is a file and a line here. */
const judges: { readonly [Name in Exclude<Kind, 'auto'>]: Create } = {
  ear: () => openEarThread(),
  signals: () => openSignalsThread(),
  openai,
  model,
};

/** Who judges with these settings. claw-nano as it is cannot judge, whoever trained it. */
const kindOf = ({ kind, judgeModel, model: policy }: JudgeConfig): Exclude<Kind, 'auto'> => {
  if (kind !== 'auto') return kind;
  if (judgeModel !== undefined) return 'model';
  return policy === CLAW_NANO ? 'ear' : 'openai';
};

const silently: FetchModelOptions = {
  onProgress: () => undefined,
  onWaiting: () => undefined,
  signal: new AbortController().signal,
};

/**
 * @param fetching of a model that has to come from the hub first
 * @throws ConfigError when the settings name a model and a judge that does not use it, or the other way round
 */
export function createJudge(config: JudgeConfig, fetching = silently): Judge {
  const kind = kindOf(config);
  if (kind !== 'model' && config.judgeModel !== undefined)
    throw new ConfigError(`the judge \`${kind}\` takes no --judge-model (CLAWLOOP_JUDGE_MODEL)`);
  return judges[kind](config, fetching);
}

/** Who judges until a judge with a model has passed its exam, and where it fails; absent: nobody. */
export const createStandIn = ({ kind }: JudgeConfig): Judge | undefined =>
  kind === 'auto' ? openEarThread() : undefined;

/** Whether what this judge says is doubted until it has passed an exam. */
export const isExamined = (config: JudgeConfig): boolean =>
  config.exam && ['openai', 'model'].includes(kindOf(config));

/** Who is examined: the model, where it runs, and what to do where there is no result or no good one. */
export const examineeOf = ({ judgeModel, openaiModel, openaiBaseUrl }: JudgeConfig) =>
  judgeModel === undefined
    ? {
        ...{ model: openaiModel, server: openaiBaseUrl, asksServer: true },
        advice: {
          failed: 'name a larger model with --judge-openai-model, or use --judge-kind ear',
          tooSlow: `${slow}, name a smaller model with --judge-openai-model, or use --judge-kind ear`,
          unfinished: `see that ${openaiBaseUrl} answers and has the model ${openaiModel} (--judge-openai-base-url, --judge-openai-model, --judge-openai-api-key), allow more time with --judge-exam-timeout-ms, or use --judge-kind ear; the exam goes on by itself once it answers`,
        },
      }
    : {
        ...{ model: judgeModel, server: 'the judge itself', asksServer: false },
        advice: {
          failed: 'name a larger model with --judge-model, or use --judge-kind ear',
          tooSlow: `${slow}, name a smaller model with --judge-model, or use --judge-kind ear`,
          unfinished:
            'see that there is enough memory for it, or name a smaller model with --judge-model; the exam goes on by itself',
        },
      };

const slow = 'it is too slow here: allow more time with --judge-exam-timeout-ms';
