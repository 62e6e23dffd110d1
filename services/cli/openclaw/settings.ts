import { isObject } from '../../../shared/lang/json.ts';
import { type Json, objectAt } from './json.ts';

/** What OpenClaw needs to know about a server. */
export type OpenClawModel = {
  /** with its /v1 */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly id: string;
  /** tokens of prompt and answer together */
  readonly contextWindow: number;
  /** tokens of an answer */
  readonly maxTokens: number;
};

/** Name of the provider. Not a vendor's name: for some of those OpenClaw downloads a plugin with other settings. */
export const PROVIDER = 'clawloop';
/** tokens; with less, OpenClaw's own prompt and tools leave no room for a conversation */
export const LEAST_CONTEXT = 16_000;
/** tokens to send to a policy that cuts to a window; OpenClaw compacts at three quarters of it */
export const WINDOW_CONTEXT = 32_768;

const providerBlock = ({ baseUrl, apiKey, id, contextWindow, maxTokens }: OpenClawModel) => ({
  baseUrl,
  apiKey,
  api: 'openai-completions',
  models: [
    {
      id,
      name: 'ClawLoop',
      reasoning: false,
      input: ['text'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow,
      maxTokens,
    },
  ],
});

/** Adds the provider to the settings and makes its model the default of all agents. Other settings stay. */
export function withProvider(settings: Json, model: OpenClawModel): Json {
  const models = objectAt(settings, 'models');
  const agents = objectAt(settings, 'agents');
  const defaults = objectAt(agents, 'defaults');
  return {
    ...settings,
    models: {
      ...models,
      providers: { ...objectAt(models, 'providers'), [PROVIDER]: providerBlock(model) },
    },
    agents: {
      ...agents,
      defaults: {
        ...defaults,
        model: { ...objectAt(defaults, 'model'), primary: `${PROVIDER}/${model.id}` },
      },
    },
  };
}

/**
 * Parses a settings file that can be rewritten without loss: plain JSON, an object, with exact numbers.
 * Undefined: comments, JSON5, an `$include`, or a number that JavaScript cannot represent.
 */
export function parsePlain(text: string): Json | undefined {
  let isLossless = true;
  const check = (_: string, value: unknown, { source }: { readonly source?: string } = {}) => {
    if (typeof value === 'number' && String(value) !== source) isLossless = false;
    return value;
  };
  try {
    const settings: unknown = JSON.parse(text, check);
    return isObject(settings) && isLossless && !('$include' in settings) ? settings : undefined;
  } catch {
    return undefined;
  }
}

/** A provider in a settings file, as far as it can be read. */
export type FoundProvider = {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly models: readonly { readonly id: string; readonly contextWindow: number | undefined }[];
};

export const providersIn = (settings: Json): readonly FoundProvider[] =>
  Object.entries(objectAt(objectAt(settings, 'models'), 'providers')).flatMap(([name, provider]) => {
    if (!isObject(provider) || typeof provider.baseUrl !== 'string') return [];
    const { baseUrl, apiKey } = provider;
    const models = (Array.isArray(provider.models) ? provider.models : []).filter(isObject);
    return [
      {
        name,
        baseUrl,
        apiKey: typeof apiKey === 'string' ? apiKey : undefined,
        models: models.flatMap(({ id, contextWindow }) =>
          typeof id === 'string'
            ? [{ id, contextWindow: typeof contextWindow === 'number' ? contextWindow : undefined }]
            : [],
        ),
      },
    ];
  });

/** `provider/model` that agents use by default. */
export function primaryModel(settings: Json): string | undefined {
  const model = objectAt(objectAt(settings, 'agents'), 'defaults').model;
  const primary = isObject(model) ? model.primary : model;
  return typeof primary === 'string' ? primary : undefined;
}
