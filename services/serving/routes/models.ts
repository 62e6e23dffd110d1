import type { FastifyInstance, FastifyRequest } from 'fastify';
import { adaptersOf } from '../chat/adapters-of.ts';
import { callerOf } from '../server.ts';
import { askedModel, versionOf } from './asked-model.ts';
import { type ModelLimits, modelLimits } from './model-limits.ts';
import type { ServingWorld } from './world.ts';

/** What can be asked: the live policy, the base policy, and the versions whose checkpoints are kept. */
export function registerModels(server: FastifyInstance, world: ServingWorld): void {
  const { config, sessions } = world;
  const { modelAlias: aliases } = config;
  const created = Math.floor(Date.now() / 1000);
  let known: Promise<ModelLimits | undefined> | undefined;
  const limits = async () => {
    known ??= modelLimits(world.config);
    const found = await known;
    if (found === undefined) known = undefined; // the model may come yet
    return found;
  };
  const sessionOf = async (request: FastifyRequest) => {
    const { sessionKey } = callerOf(request);
    return sessionKey === undefined ? undefined : sessions.speaking(sessionKey);
  };
  const describe = async () => {
    const found = await limits();
    const length = found === undefined ? {} : { max_model_len: found.contextTokens }; // vLLM's name
    const context = found === undefined ? {} : { context: found.mode };
    const budget = found?.systemBudget === undefined ? {} : { system_budget: found.systemBudget };
    return (id: string, live: boolean) => ({
      ...{ id, object: 'model', created, owned_by: 'clawloop', ...length },
      clawloop: { live, ...context, ...budget },
    });
  };
  /** A key's own adapter goes by the alias alone; so does the first one, where a key may ask them all. */
  const list = async (adapters: readonly string[]) => {
    const model = await describe();
    const shown = aliases[0]!;
    const namesOf = (adapter: string) => (adapter === adapters[0] ? aliases : [`${shown}:${adapter}`]);
    return adapters.flatMap((adapter) => {
      const names = namesOf(adapter);
      const kept = world.head
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
    server.get(`${prefix}/models`, async (request) => ({
      object: 'list',
      data: await list(adaptersOf(callerOf(request), await sessionOf(request), config.adapters)),
    }));
    server.get<{ Params: { '*': string } }>(`${prefix}/models/*`, async (request) => {
      const id = request.params['*'];
      const asked = askedModel(world, callerOf(request), await sessionOf(request), id);
      await versionOf(world, asked);
      return (await describe())(id, asked.kind === 'live');
    });
  }
}
