import { ConfigError } from '../../../shared/config/common.ts';
import type { JudgeConfig } from '../../../shared/config/judge.ts';
import type { FetchModelOptions } from '../../../shared/hub/fetch-model.ts';
import { findModel } from '../../../shared/hub/find-model.ts';
import { isShipped } from '../../../shared/policy/model/model-folder.ts';
import { withoutSecrets } from '../../../shared/secrets/find-secrets.ts';
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
    throw new ConfigError('the judge `model` needs a model: set --judge-model (CLAWLOOP_JUDGE_MODEL)');
  return openModelJudge(judgeModel, async () => {
    const folder = await findModel({ ...config, model: judgeModel }, fetching);
    return { folder, backend, temperature, maxTokens };
  });
};

/** All judges by kind. */
const judges: { readonly [Name in Exclude<Kind, 'auto'>]: Create } = {
  ear: () => openEarThread(),
  signals: () => openSignalsThread(),
  openai,
  model,
};

/** The kind of judge for these settings. A shipped model cannot judge, so the ear does. */
const kindOf = ({ kind, judgeModel, model: policy }: JudgeConfig): Exclude<Kind, 'auto'> => {
  if (kind !== 'auto') return kind;
  if (judgeModel !== undefined) return 'model';
  return isShipped(policy) ? 'ear' : 'openai';
};

const silentFetching: FetchModelOptions = {
  onProgress: () => undefined,
  onWaiting: () => undefined,
  signal: new AbortController().signal,
};

/**
 * @param fetching for a model that must be downloaded from the hub
 * @throws ConfigError when the settings name a model for a judge without one, or lack it for the judge `model`
 */
export function createJudge(config: JudgeConfig, fetching = silentFetching): Judge {
  const kind = kindOf(config);
  if (kind !== 'model' && config.judgeModel !== undefined)
    throw new ConfigError(`the judge \`${kind}\` takes no --judge-model (CLAWLOOP_JUDGE_MODEL)`);
  return judges[kind](config, fetching);
}

/** The judge in place of one that has not passed its exam; undefined: none. */
export const createStandIn = ({ kind }: JudgeConfig): Judge | undefined =>
  kind === 'auto' ? openEarThread() : undefined;

/** Whether the verdicts of this judge count only after an exam. */
export const isExamined = (config: JudgeConfig): boolean =>
  config.exam && ['openai', 'model'].includes(kindOf(config));

/** The examined model, its server, and advice to the operator for an exam that fails or cannot finish. */
export const examineeOf = ({ judgeModel, openaiModel, openaiBaseUrl }: JudgeConfig) =>
  judgeModel === undefined
    ? {
        model: openaiModel,
        server: openaiBaseUrl,
        asksServer: true,
        advice: {
          failed: 'choose a larger model with --judge-openai-model, or use --judge-kind ear',
          tooSlow: `${tooSlow}, choose a smaller model with --judge-openai-model, or use --judge-kind ear`,
          unfinished: `check that ${openaiBaseUrl} answers and serves the model ${openaiModel} (--judge-openai-base-url, --judge-openai-model, --judge-openai-api-key), allow more time with --judge-exam-timeout-ms, or use --judge-kind ear; the exam continues when the server answers`,
        },
      }
    : {
        model: judgeModel,
        server: 'the judge itself',
        asksServer: false,
        advice: {
          failed: 'choose a larger model with --judge-model, or use --judge-kind ear',
          tooSlow: `${tooSlow}, choose a smaller model with --judge-model, or use --judge-kind ear`,
          unfinished:
            'check that it has enough memory, or choose a smaller model with --judge-model; the exam is retried automatically',
        },
      };

const tooSlow = 'it is too slow on this machine: allow more time with --judge-exam-timeout-ms';
