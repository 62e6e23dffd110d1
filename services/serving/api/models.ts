import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServingConfig } from '../../../shared/config/serving.ts';
import { findModelHere } from '../../../shared/hub/find-model.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { parseModelConfig } from '../../../shared/policy/model/model-config.ts';
import { loadModelSettings, promptLimits } from '../../../shared/policy/model/model-settings.ts';
import { adaptersOf, resolveModel, versionOf } from '../answer/resolve-model.ts';
import { contextMode, contextOf } from '../engine/context.ts';
import { callerOf } from '../http/caller.ts';
import type { ApiDeps } from './api-deps.ts';

/**
 * Lists the available models: the live policy, the base policy, and the versions with a checkpoint. OpenAI and
 * Anthropic have the same path, so an answer has the fields of both.
 */
export function registerModels(server: FastifyInstance, deps: ApiDeps): void {
  const { config, sessions } = deps;
  const { modelAlias: aliases } = config;
  const created = Math.floor(Date.now() / 1000);
  const createdAt = new Date(created * 1000).toISOString();
  let pendingLimits: Promise<ModelLimits | undefined> | undefined;
  const limits = async () => {
    pendingLimits ??= modelLimits(deps.config);
    const modelLimit = await pendingLimits;
    if (modelLimit === undefined) pendingLimits = undefined; // the model may still arrive
    return modelLimit;
  };
  const sessionOf = async (request: FastifyRequest) => {
    const { sessionKey } = callerOf(request);
    return sessionKey === undefined ? undefined : sessions.current(sessionKey);
  };
  const describe = async () => {
    const modelLimit = await limits();
    return (id: string, live: boolean) => ({
      id,
      object: 'model',
      created,
      owned_by: 'clawloop',
      // Anthropic's names
      type: 'model',
      display_name: id,
      created_at: createdAt,
      ...defined({ max_model_len: modelLimit?.contextTokens }), // vLLM's name
      clawloop: {
        live,
        ...defined({ context: modelLimit?.mode, system_budget: modelLimit?.systemBudget }),
      },
    });
  };
  /** The caller's default adapter is listed under the aliases alone. */
  const list = async (adapters: readonly string[]) => {
    const model = await describe();
    const shown = aliases[0]!;
    const namesOf = (adapter: string) => (adapter === adapters[0] ? aliases : [`${shown}:${adapter}`]);
    return adapters.flatMap((adapter) => {
      const names = namesOf(adapter);
      const kept = deps.head
        .of(adapter)
        .kept()
        .filter((version) => version > 0);
      return [
        ...names.map((name) => model(name, true)),
        model(`${names[0]}@base`, false),
        ...kept.map((version) => model(`${names[0]}@v${version}`, false)),
      ];
    });
  };
  for (const prefix of ['/v1', '']) {
    server.get(`${prefix}/models`, async (request) => {
      const data = await list(adaptersOf(callerOf(request), await sessionOf(request), config.adapters));
      // Anthropic's clients read the last three to fetch further pages
      const [firstId = null, lastId = null] = [data.at(0)?.id, data.at(-1)?.id];
      return { object: 'list', data, has_more: false, first_id: firstId, last_id: lastId };
    });
    server.get<{ Params: { '*': string } }>(`${prefix}/models/*`, async (request) => {
      const id = request.params['*'];
      const resolved = resolveModel(deps, callerOf(request), await sessionOf(request), id);
      await versionOf(deps, resolved);
      return (await describe())(id, resolved.kind === 'live');
    });
  }
}

type ModelLimits = {
  /** limit of prompt and answer together */
  readonly contextTokens: number;
  /** for a prompt that does not fit */
  readonly mode: 'window' | 'error';
  /** tokens of the system text; undefined: as many as fit */
  readonly systemBudget: number | undefined;
};

/** The token limits of the model; undefined: the upstream engine decides, or the model is not downloaded yet. */
async function modelLimits(config: ServingConfig): Promise<ModelLimits | undefined> {
  const makesPrompts = config.engine === 'local' || config.upstreamKind === 'sglang';
  const folder = makesPrompts ? findModelHere(config) : undefined;
  if (folder === undefined) return undefined;
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { contextTokens, kvCacheMib } = config;
  const { tokens } = contextOf(parseModelConfig(JSON.parse(text)), {
    contextTokens,
    cacheBytes: config.engine === 'local' ? kvCacheMib * 2 ** 20 : Number.MAX_SAFE_INTEGER,
  });
  const limits = promptLimits(await loadModelSettings(folder), config.systemBudget);
  return { contextTokens: tokens, mode: contextMode(config), systemBudget: limits?.systemTokens };
}
