import type { Caller } from '../access.ts';
import { adaptersOf } from '../chat/adapters-of.ts';
import { chooseModel, type ModelChoice } from '../chat/model-name.ts';
import type { PolicyTarget, PolicyVersion } from '../engine/engine.ts';
import { ServingError } from '../errors.ts';
import type { Session } from '../rl/session-table.ts';
import type { ServingWorld } from './world.ts';

/** Which adapter is asked, and whether for its live version. */
export type AskedModel = Exclude<ModelChoice, { readonly kind: 'unknown' }> & {
  readonly model: string;
  /** It answers this caller unless another one is named. */
  readonly isDefault: boolean;
};

/**
 * What a caller's model name stands for. An adapter that is not the caller's is as unknown as one that there
 * is not.
 * @throws ServingError MODEL_NOT_FOUND, KEY_OF_ANOTHER_ADAPTER
 */
export function askedModel(
  { config }: Pick<ServingWorld, 'config'>,
  caller: Pick<Caller, 'adapter'>,
  session: Session | undefined,
  model: string,
): AskedModel {
  const adapters = adaptersOf(caller, session, config.adapters);
  const choice = chooseModel(model, {
    aliases: config.modelAlias,
    strict: config.strictModels,
    adapters,
  });
  if (choice.kind === 'unknown') throw notFound(model);
  return { ...choice, model, isDefault: choice.adapter === adapters[0] };
}

/** What answers. @throws ServingError NOTHING_SERVED, MODEL_NOT_FOUND */
export async function targetOf(world: ServingWorld, asked: AskedModel): Promise<PolicyTarget> {
  const version = await versionOf(world, asked);
  if (version !== undefined) return { kind: 'pinned', ...version };
  const { adapter } = asked;
  const detail = world.unserved(adapter);
  if (detail !== undefined) throw ServingError.NOTHING_SERVED({ detail, retryAfterSeconds: 5 });
  return { kind: 'live', adapter };
}

/** Undefined: the live one, whichever that is. @throws ServingError MODEL_NOT_FOUND */
export async function versionOf(
  { head }: Pick<ServingWorld, 'head'>,
  asked: AskedModel,
): Promise<PolicyVersion | undefined> {
  if (asked.kind === 'live') return undefined;
  const { find } = head.of(asked.adapter);
  let version = find(asked.version);
  if (version === undefined) {
    await head.reachEnd();
    version = find(asked.version);
  }
  if (version === undefined) throw notFound(asked.model);
  return version;
}

const notFound = (model: string) =>
  ServingError.MODEL_NOT_FOUND({ param: 'model', model: model.slice(0, 200) });
