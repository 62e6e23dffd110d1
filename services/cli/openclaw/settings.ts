import { isObject, type Json, objectAt } from './json.ts';

/** What OpenClaw has to be told of a server. */
export type OpenClawModel = {
  /** with its /v1 */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly id: string;
  /** tokens that OpenClaw may send, its answer's included */
  readonly contextWindow: number;
  /** tokens of an answer */
  readonly maxTokens: number;
};

/** The provider's name. Not a vendor's: OpenClaw fetches a plugin for some of those, with a shape of its own. */
export const PROVIDER = 'clawloop';
/** Tokens below which OpenClaw's own prompt with its tools leaves no room for a conversation. */
export const LEAST_CONTEXT = 16_000;
/** Tokens that a policy which cuts to a window may be sent; it compacts when they are three quarters full. */
export const WINDOW_CONTEXT = 32_768;

export const providerBlock = ({ baseUrl, apiKey, id, contextWindow, maxTokens }: OpenClawModel) => ({
  baseUrl,
  apiKey,
  api: 'openai-completions',
  models: [
    {
      ...{ id, name: 'ClawLoop', reasoning: false, input: ['text'] },
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      ...{ contextWindow, maxTokens },
    },
  ],
});

/** The settings with the provider in them, and its model as the one that agents use; the rest as it was. */
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
 * The settings of a file that can be written again without a loss: plain JSON, an object, every number as it
 * stands. Undefined: comments, JSON5, an `$include`, or a number that JavaScript cannot hold.
 */
export function parsePlain(text: string): Json | undefined {
  let lossless = true;
  const check = (_: string, value: unknown, { source }: { readonly source?: string } = {}) => {
    if (typeof value === 'number' && String(value) !== source) lossless = false;
    return value;
  };
  try {
    const settings: unknown = JSON.parse(text, check);
    return isObject(settings) && lossless && !('$include' in settings) ? settings : undefined;
  } catch {
    return undefined;
  }
}

/** A provider as it stands in a file, as far as it can be read. */
export type FoundProvider = {
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly models: readonly { readonly id: string; readonly contextWindow: number | undefined }[];
};

export const providersIn = (settings: Json): readonly FoundProvider[] =>
  Object.entries(objectAt(objectAt(settings, 'models'), 'providers')).flatMap(([name, one]) => {
    if (!isObject(one) || typeof one.baseUrl !== 'string') return [];
    const { baseUrl, apiKey } = one;
    const models = (Array.isArray(one.models) ? one.models : []).filter(isObject);
    return [
      {
        ...{ name, baseUrl, apiKey: typeof apiKey === 'string' ? apiKey : undefined },
        models: models.flatMap(({ id, contextWindow }) =>
          typeof id === 'string'
            ? [{ id, contextWindow: typeof contextWindow === 'number' ? contextWindow : undefined }]
            : [],
        ),
      },
    ];
  });

/** `provider/model` that agents use unless told otherwise. */
export function primaryModel(settings: Json): string | undefined {
  const model = objectAt(objectAt(settings, 'agents'), 'defaults').model;
  const primary = isObject(model) ? model.primary : model;
  return typeof primary === 'string' ? primary : undefined;
}
