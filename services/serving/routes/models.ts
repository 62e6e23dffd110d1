import type { FastifyInstance } from 'fastify';
import { chooseModel } from '../chat/model-name.ts';
import { ServingError } from '../errors.ts';
import type { ServingWorld } from './world.ts';

/** What can be asked: the live policy, the base policy, and the versions whose checkpoints are kept. */
export function registerModels(server: FastifyInstance, world: ServingWorld): void {
  const { modelAlias: aliases, strictModels } = world.config;
  const created = Math.floor(Date.now() / 1000);
  const model = (id: string, live: boolean) => ({
    id,
    object: 'model',
    created,
    owned_by: 'clawloop',
    clawloop: { live },
  });
  const list = async () => {
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
      return model(id, choice.kind === 'live');
    });
  }
}
