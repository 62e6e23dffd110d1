import type { FastifyInstance } from 'fastify';
import { chooseModel } from '../chat/model-name.ts';
import { ServingError } from '../errors.ts';
import { type ModelLimits, modelLimits } from './model-limits.ts';
import type { ServingWorld } from './world.ts';

/** What can be asked: the live policy, the base policy, and the versions whose checkpoints are kept. */
export function registerModels(server: FastifyInstance, world: ServingWorld): void {
  const { modelAlias: aliases, strictModels } = world.config;
  const created = Math.floor(Date.now() / 1000);
  let known: Promise<ModelLimits | undefined> | undefined;
  const limits = async () => {
    known ??= modelLimits(world.config);
    const found = await known;
    if (found === undefined) known = undefined; // the model may come yet
    return found;
  };
  const describe = async () => {
    const found = await limits();
    const length = found === undefined ? {} : { max_model_len: found.contextTokens }; // vLLM's name
    const context = found === undefined ? {} : { context: found.mode };
    return (id: string, live: boolean) => ({
      ...{ id, object: 'model', created, owned_by: 'clawloop', ...length },
      clawloop: { live, ...context },
    });
  };
  const list = async () => {
    const model = await describe();
    const shown = aliases[0]!;
    const kept = (await world.head.kept()).filter((version) => version > 0);
    return [
      ...aliases.map((alias) => model(alias, true)),
      model(`${shown}@base`, false),
      ...kept.map((version) => model(`${shown}@v${version}`, false)),
    ];
  };
  for (const prefix of ['/v1', '']) {
    server.get(`${prefix}/models`, async () => ({ object: 'list', data: await list() }));
    server.get<{ Params: { '*': string } }>(`${prefix}/models/*`, async ({ params }) => {
      const id = params['*'];
      const choice = chooseModel(id, aliases, strictModels);
      const exists =
        choice.kind === 'live' ||
        (choice.kind === 'version' && (await world.head.find(choice.version)) !== undefined);
      if (!exists) throw ServingError.MODEL_NOT_FOUND({ param: 'model', model: id.slice(0, 200) });
      return (await describe())(id, choice.kind === 'live');
    });
  }
}
