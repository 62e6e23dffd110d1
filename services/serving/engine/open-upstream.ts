import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { FetchModelOptions } from '../../../shared/hub/fetch-model.ts';
import { findModel, findModelHere } from '../../../shared/hub/find-model.ts';
import { openCheckpoint } from '../../../shared/policy/checkpoint.ts';
import { modelDigest } from '../../../shared/policy/model-digest.ts';
import type { ReservedTokens } from '../../../shared/policy/plain-prompt.ts';
import { isGreedy } from '../../../shared/policy/sampling.ts';
import { loadTokenizer } from '../../../shared/policy/tokenizer.ts';
import { ConfigError } from '../../../shared/service/config.ts';
import { dataFolder } from '../../../shared/service/data-folder.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { ServingConfig } from '../config.ts';
import { contextMode } from './context.ts';
import type { Engine, GenerationRequest } from './engine.ts';
import { handOverAdapter } from './hand-over.ts';
import type { SamplingDefaults } from './sequence.ts';
import { openUpstreamEngine } from './upstream.ts';
import { adapterCalls } from './upstream-adapter-calls.ts';
import { chatDialect } from './upstream-chat.ts';
import type { UpstreamDialect } from './upstream-exchange.ts';
import { openUpstreamHttp, type UpstreamHttp } from './upstream-http.ts';
import { createUpstreamModels, oneModel, type UpstreamModels } from './upstream-models.ts';
import { withPlainTexts } from './upstream-plain.ts';
import { messageOf } from './upstream-refusal.ts';
import { openSglangDialect } from './upstream-sglang.ts';
import { countWithTokenize } from './upstream-tokenize.ts';
import { fitsLogProbs, type UpstreamLogProbs } from './upstream-tokens.ts';

export type UpstreamOptions = FetchModelOptions & {
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>;
};

/** ms that a server which is well may take to say so */
const HEALTH_LIMIT_MS = 5_000;
/** Adapters that stay loaded after their last answer unless told otherwise. */
const KEPT_VERSIONS = 2;

/** The upstream engine that the settings describe. Rejects with ConfigError when they cannot be used. */
export async function openUpstream(config: ServingConfig, options: UpstreamOptions): Promise<Engine> {
  const { upstreamUrl, upstreamKind: kind } = config;
  if (upstreamUrl === undefined) throw new ConfigError('the engine `upstream` needs --upstream-url');
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
      // what it answers does not matter: the path is OpenAI's, and not every server has it
      checkHealth: () => askHealth(http, `${url}/models`, (status) => status < 500),
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
      'with such log-probs no turn trains whose client leaves temperature and filters to the model: see docs/upstream.md',
    );
  const believed: Believed = {
    logProbs,
    vocabularySize: await vocabularySizeHere(config),
    reservedTokens: await reservedTokensHere(config),
  };
  const prefix = kind === 'vllm' ? `${root}/v1` : root;
  return openUpstreamEngine({
    report,
    http,
    models: versionsThere(config, http, { models: `${root}/v1/models`, prefix }, options.logger),
    hasVersions: true,
    dialect: await (kind === 'vllm'
      ? vllmDialect(http, root, believed)
      : sglangDialect(config, root, believed, options)),
    checkHealth: () => askHealth(http, `${root}/health`, (status) => status === 200),
    healthMs: config.upstreamHealthMs,
    settle: settleWith(defaults),
    logger: options.logger,
  });
}

type Believed = {
  readonly logProbs: UpstreamLogProbs;
  readonly vocabularySize: number | undefined;
  readonly reservedTokens: ReservedTokens | undefined;
};

const vllmDialect = (
  http: UpstreamHttp,
  root: string,
  { logProbs, vocabularySize, reservedTokens }: Believed,
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
    renamesThoughts: true,
    saltField: 'cache_salt',
  });
  return withPlainTexts(
    { ...chat, countTokens: countWithTokenize(http, `${root}/tokenize`) },
    reservedTokens,
  );
};

const sglangDialect = async (
  config: ServingConfig,
  root: string,
  { logProbs, vocabularySize }: Believed,
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
      cacheBytes: Number.MAX_SAFE_INTEGER, // keys and values are the server's affair
    },
  });

function versionsThere(
  config: ServingConfig,
  http: UpstreamHttp,
  { models, prefix }: { readonly models: string; readonly prefix: string },
  logger: UpstreamOptions['logger'],
): UpstreamModels {
  if (config.training === 'full')
    throw new ConfigError('an upstream engine takes adapters: `--training full` needs `--engine local`');
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
          'the upstream engine serves one model, and adapters are trained for another: see --model',
        );
    },
    onUnloadFailure: (name, error) =>
      logger.warn({ err: error, name }, 'the upstream engine keeps an adapter that is not needed any more'),
  });
}

const mappingOf = (setting: string | undefined) => {
  if (setting === undefined) return undefined;
  const at = setting.indexOf('=');
  return { from: setting.slice(0, at), to: setting.slice(at + 1) };
};

async function askHealth(
  http: UpstreamHttp,
  address: string,
  isWell: (status: number) => boolean,
): Promise<void> {
  const { status, text } = await http.call(address, HEALTH_LIMIT_MS);
  if (!isWell(status)) throw new Error(`${address} answers ${status}: ${messageOf(text)}`);
}

const plain: SamplingDefaults = { temperature: 1, topP: 1, topK: 0 };

/** What stands for the settings that a client leaves out. They are sent, so that they are what is recorded. */
async function samplingDefaults(
  config: ServingConfig,
  logger: UpstreamOptions['logger'],
): Promise<SamplingDefaults> {
  if (config.upstreamSampling === 'plain') return plain;
  const folder = findModelHere(config);
  if (folder === undefined) {
    logger.warn({ model: config.model }, 'the model is not here: what clients leave out is temperature 1');
    return plain;
  }
  const { temperature = 1, topP = 1, topK = 0 } = (await openCheckpoint(folder)).generationConfig;
  return { temperature, topP, topK };
}

/** Of a model that is not here, or cannot be computed here, nothing is known: it trains nowhere. */
async function vocabularySizeHere(config: ServingConfig): Promise<number | undefined> {
  const folder = findModelHere(config);
  if (folder === undefined) return undefined;
  return openCheckpoint(folder).then(
    ({ config: { vocabularySize } }) => vocabularySize,
    () => undefined,
  );
}

/** Undefined where the model is not here. */
async function reservedTokensHere(config: ServingConfig): Promise<ReservedTokens | undefined> {
  const folder = findModelHere(config);
  return folder === undefined ? undefined : loadTokenizer(folder).catch(() => undefined);
}

/** Below 0.1 an answer is greedy, as with the local engine. */
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
