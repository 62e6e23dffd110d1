import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { z } from 'zod';
import { ConfigError } from '../../../../shared/config/common.ts';
import type { ServingConfig } from '../../../../shared/config/serving.ts';
import { trainableTemperature } from '../../../../shared/config/training-server.ts';
import type { FetchModelOptions } from '../../../../shared/hub/fetch-model.ts';
import { findModel, findModelHere } from '../../../../shared/hub/find-model.ts';
import { defined } from '../../../../shared/lang/defined.ts';
import { openCheckpoint } from '../../../../shared/policy/checkpoints/checkpoint.ts';
import { isGreedy } from '../../../../shared/policy/decode/sampling.ts';
import { modelDigest } from '../../../../shared/policy/model/model-digest.ts';
import type { ReservedTokens } from '../../../../shared/policy/text/plain-prompt.ts';
import { loadTokenizer } from '../../../../shared/policy/text/tokenizer.ts';
import { dataFolder } from '../../../../shared/runtime/data-folder.ts';
import type { Logger } from '../../../../shared/runtime/logger.ts';
import type { Engine, GenerationRequest, PromptParts } from '../../generation.ts';
import { contextMode } from '../context.ts';
import type { SamplingDefaults } from '../local/sequence.ts';
import { adapterCalls, handOverAdapter } from './adapters.ts';
import { chatDialect, withBothNames } from './chat.ts';
import type { UpstreamDialect } from './exchange.ts';
import { openUpstreamHttp, type UpstreamHttp } from './http.ts';
import { createUpstreamModels, oneModel, type UpstreamModels } from './models.ts';
import { withPlainTexts } from './plain.ts';
import { messageOf, refusalError } from './refusal.ts';
import { openSglangDialect } from './sglang.ts';
import { fitsLogProbs, type UpstreamLogProbs } from './tokens.ts';
import { openUpstreamEngine } from './upstream.ts';

export type UpstreamOptions = FetchModelOptions & {
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
};

/** ms for a health check */
const HEALTH_LIMIT_MS = 5_000;
/** Default number of unused adapters to keep loaded. */
const KEPT_VERSIONS = 2;

/** Opens the configured upstream engine. Rejects with ConfigError for invalid settings. */
export async function openUpstream(config: ServingConfig, options: UpstreamOptions): Promise<Engine> {
  const { upstreamUrl, upstreamKind: kind } = config;
  if (upstreamUrl === undefined) throw new ConfigError('`--engine upstream` needs `--upstream-url`');
  const url = upstreamUrl.replace(/\/+$/, '');
  const root = url.replace(/\/v1$/, '');
  const http = openUpstreamHttp({
    apiKey: config.upstreamApiKey,
    connectTimeoutMs: config.upstreamConnectTimeoutMs,
    firstByteTimeoutMs: config.upstreamFirstByteTimeoutMs ?? config.upstreamTimeoutMs,
    idleTimeoutMs: config.upstreamTimeoutMs,
  });
  const report = `upstream engine (${kind}) at ${url}`;
  if (kind === 'openai') {
    const { upstreamLogprobs: logProbs = 'none', upstreamTokenIds: tokenIds } = config;
    return openUpstreamEngine({
      report,
      http,
      models: oneModel(config.upstreamModel ?? 'default'),
      hasVersions: false,
      dialect: chatDialect({ url, logProbs, tokenIds, allSettings: false, namesModel: false }),
      // any answer will do: not every server has this path
      checkHealth: () => checkHealth(http, `${url}/models`, (status) => status < 500),
      healthMs: config.upstreamHealthMs,
      settle: (request) => request,
      logger: options.logger,
    });
  }
  const defaults = await samplingDefaults(config, options.logger);
  const logProbs = config.upstreamLogprobs ?? (kind === 'vllm' ? 'raw' : 'scaled');
  if (!fitsLogProbs(logProbs, defaults))
    options.logger.warn(
      { logProbs, ...defaults },
      "the engine's logprobs do not fit the model's sampling defaults: turns whose clients set no temperature and filters do not train; see docs/operate/upstream.md",
    );
  const facts: ModelFacts = {
    logProbs,
    vocabularySize: await vocabularySizeHere(config),
    reservedTokens: await reservedTokensHere(config),
  };
  const prefix = kind === 'vllm' ? `${root}/v1` : root;
  return openUpstreamEngine({
    report,
    http,
    models: upstreamVersions(config, http, { models: `${root}/v1/models`, prefix }, options.logger),
    hasVersions: true,
    dialect: await (kind === 'vllm'
      ? vllmDialect(http, root, facts)
      : sglangDialect(config, root, facts, options)),
    checkHealth: () => checkHealth(http, `${root}/health`, (status) => status === 200),
    healthMs: config.upstreamHealthMs,
    settle: settleWith(defaults),
    logger: options.logger,
  });
}

type ModelFacts = {
  readonly logProbs: UpstreamLogProbs;
  readonly vocabularySize: number | undefined;
  readonly reservedTokens: ReservedTokens | undefined;
};

const vllmDialect = (
  http: UpstreamHttp,
  root: string,
  { logProbs, vocabularySize, reservedTokens }: ModelFacts,
): UpstreamDialect => {
  const chat = chatDialect({
    url: `${root}/v1`,
    logProbs,
    vocabularySize,
    tokenIds: true,
    allSettings: true,
    namesModel: true,
    hidesCalls: true,
    strictForcedCalls: true,
    renamesReasoning: true,
    saltField: 'cache_salt',
  });
  return withPlainTexts(
    { ...chat, countTokens: countWithTokenize(http, `${root}/tokenize`) },
    reservedTokens,
  );
};

const TokenizeAnswer = z.looseObject({ count: z.int().min(0) });

const TOKENIZE_LIMIT_MS = 30_000;

/** Counts the tokens of a chat with vLLM's /tokenize, which applies its own template. */
const countWithTokenize =
  (http: UpstreamHttp, address: string) =>
  async ({ messages, tools, templateVariables }: PromptParts): Promise<number> => {
    const { status, text } = await http.call(address, TOKENIZE_LIMIT_MS, {
      messages: withBothNames(messages),
      add_generation_prompt: true,
      ...defined({
        tools: tools.length === 0 ? undefined : tools,
        chat_template_kwargs: Object.keys(templateVariables).length === 0 ? undefined : templateVariables,
      }),
    });
    if (status !== 200) throw refusalError({ status, text, retryAfterSeconds: undefined });
    return TokenizeAnswer.parse(JSON.parse(text)).count;
  };

const sglangDialect = async (
  config: ServingConfig,
  root: string,
  { logProbs, vocabularySize }: ModelFacts,
  fetching: UpstreamOptions,
): Promise<UpstreamDialect> =>
  openSglangDialect({
    root,
    promptTimeoutMs: config.promptTimeoutMs,
    logger: fetching.logger,
    logProbs,
    vocabularySize,
    prompts: {
      modelFolder: await findModel(config, fetching),
      context: contextMode(config),
      systemBudget: config.systemBudget,
      contextTokens: config.contextTokens,
      cacheBytes: Number.MAX_SAFE_INTEGER, // the server manages keys and values
    },
  });

function upstreamVersions(
  config: ServingConfig,
  http: UpstreamHttp,
  { models, prefix }: { readonly models: string; readonly prefix: string },
  logger: UpstreamOptions['logger'],
): UpstreamModels {
  if (config.training === 'full')
    throw new ConfigError(
      'an upstream engine accepts only adapters: `--training full` needs `--engine local`',
    );
  const folder = findModelHere(config);
  let digest: Promise<string> | undefined;
  return createUpstreamModels({
    calls: adapterCalls(http, {
      models,
      load: `${prefix}/load_lora_adapter`,
      unload: `${prefix}/unload_lora_adapter`,
    }),
    base: config.upstreamModel,
    adapters: config.adapters,
    folderOf: dataFolder(config.dataFolder).adapters,
    mapping: mappingOf(config.upstreamAdapterFolder),
    handOver: (version, to) => {
      if (folder !== undefined) digest ??= modelDigest(folder);
      return handOverAdapter(version, to, digest);
    },
    takeBack: (handed) => rm(handed, { recursive: true, force: true }),
    kept: config.keptVersions ?? KEPT_VERSIONS,
    onBase: (path) => {
      if (basename(path) !== basename(config.model).replace(/@.*$/, ''))
        logger.warn(
          { served: path, model: config.model },
          'the upstream engine serves a different model from the model that adapters are trained for; check --model',
        );
    },
    onUnloadFailure: (name, error) =>
      logger.warn(
        { err: error, name },
        'could not unload an unused adapter from the upstream engine; it stays loaded until serving restarts',
      ),
  });
}

const mappingOf = (setting: string | undefined) => {
  if (setting === undefined) return undefined;
  const at = setting.indexOf('=');
  return { from: setting.slice(0, at), to: setting.slice(at + 1) };
};

async function checkHealth(
  http: UpstreamHttp,
  address: string,
  isHealthy: (status: number) => boolean,
): Promise<void> {
  const { status, text } = await http.call(address, HEALTH_LIMIT_MS);
  if (!isHealthy(status)) throw new Error(`${address} returned status ${status}: ${messageOf(text)}`);
}

const neutral: SamplingDefaults = { temperature: 1, topP: 1, topK: 0 };

/** The defaults for settings that a client does not send. They are sent upstream, so that the record is exact. */
async function samplingDefaults(
  config: ServingConfig,
  logger: UpstreamOptions['logger'],
): Promise<SamplingDefaults> {
  if (config.upstreamSampling === 'plain') return neutral;
  const folder = findModelHere(config);
  if (folder === undefined) {
    logger.warn(
      { model: config.model },
      "model files not found on this machine: sampling defaults to temperature 1; for the model's own defaults, run clawloop model fetch and restart",
    );
    return neutral;
  }
  const { temperature = 1, topP = 1, topK = 0 } = (await openCheckpoint(folder)).generationConfig;
  return { temperature: trainableTemperature(config) ?? temperature, topP, topK };
}

/** Undefined if the model is not on this machine or not supported; then it does not train either. */
async function vocabularySizeHere(config: ServingConfig): Promise<number | undefined> {
  const folder = findModelHere(config);
  if (folder === undefined) return undefined;
  return openCheckpoint(folder).then(
    ({ config: { vocabularySize } }) => vocabularySize,
    () => undefined,
  );
}

/** Undefined if the model is not on this machine. */
async function reservedTokensHere(config: ServingConfig): Promise<ReservedTokens | undefined> {
  const folder = findModelHere(config);
  return folder === undefined ? undefined : loadTokenizer(folder).catch(() => undefined);
}

/** As with the local engine, answers with a temperature below 0.1 are greedy. */
const settleWith =
  (defaults: SamplingDefaults) =>
  (request: GenerationRequest): GenerationRequest => {
    const {
      temperature = defaults.temperature,
      topP = defaults.topP,
      topK = defaults.topK,
    } = request.sampling;
    const settled = { temperature: isGreedy(temperature) ? 0 : temperature, topP, topK };
    return { ...request, sampling: { ...request.sampling, ...settled } };
  };
