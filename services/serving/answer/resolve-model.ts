import type { ServingConfig } from '../../../shared/config/serving.ts';
import { ServingError } from '../errors.ts';
import type { PolicyTarget, PolicyVersion } from '../generation.ts';
import type { AdapterHead, HeadView } from '../heads/head-view.ts';
import { type Caller, refuseUnserved } from '../http/access.ts';
import type { Session } from '../sessions/session-row.ts';
import { chooseModel, type ModelChoice } from './model-name.ts';

/** What resolving a model name needs from the process. */
export type ModelDeps = {
  readonly config: ServingConfig;
  readonly head: Pick<HeadView, 'reachEnd'> & {
    readonly of: (adapter: string) => Pick<AdapterHead, 'find' | 'kept'>;
  };
  /** Why no version of an adapter is or will soon be served; undefined while a version is served or loading. */
  readonly unserved: (adapter: string) => string | undefined;
};

/** The adapter that a model name selects, and whether it selects the live version. */
export type ResolvedModel = Exclude<ModelChoice, { readonly kind: 'unknown' }> & {
  readonly model: string;
  /** Whether this adapter is the caller's default. */
  readonly isDefault: boolean;
};

/**
 * Resolves a model name for a caller. An adapter of another caller is reported like one that does not exist.
 * @throws ServingError MODEL_NOT_FOUND, KEY_OF_ANOTHER_ADAPTER
 */
export function resolveModel(
  { config }: Pick<ModelDeps, 'config'>,
  caller: Pick<Caller, 'adapter'>,
  session: Session | undefined,
  model: string,
): ResolvedModel {
  const adapters = adaptersOf(caller, session, config.adapters);
  const choice = chooseModel(model, {
    aliases: config.modelAlias,
    strict: config.strictModels,
    adapters,
  });
  if (choice.kind === 'unknown') throw notFound(model);
  return { ...choice, model, isDefault: choice.adapter === adapters[0] };
}

/**
 * The adapters that a caller may use, the default first: in a session, the session's adapter; else the key's own
 * adapter; else all.
 *
 * @param served in the order of the settings
 * @throws ServingError KEY_OF_ANOTHER_ADAPTER
 */
export function adaptersOf(
  { adapter }: Pick<Caller, 'adapter'>,
  session: Pick<Session, 'adapter'> | undefined,
  served: readonly string[],
): readonly string[] {
  const onlyAdapter = session?.adapter ?? adapter;
  if (onlyAdapter === undefined) return served;
  refuseUnserved(onlyAdapter, served);
  return [onlyAdapter];
}

/** The policy to generate with. @throws ServingError NOTHING_SERVED, MODEL_NOT_FOUND */
export async function targetOf(deps: ModelDeps, resolved: ResolvedModel): Promise<PolicyTarget> {
  const version = await versionOf(deps, resolved);
  if (version !== undefined) return { kind: 'pinned', ...version };
  const { adapter } = resolved;
  const detail = deps.unserved(adapter);
  if (detail !== undefined) throw ServingError.NOTHING_SERVED({ detail, retryAfterSeconds: 5 });
  return { kind: 'live', adapter };
}

/** Undefined: the live version. @throws ServingError MODEL_NOT_FOUND */
export async function versionOf(
  { head }: Pick<ModelDeps, 'head'>,
  resolved: ResolvedModel,
): Promise<PolicyVersion | undefined> {
  if (resolved.kind === 'live') return undefined;
  const { find } = head.of(resolved.adapter);
  let version = find(resolved.version);
  if (version === undefined) {
    await head.reachEnd();
    version = find(resolved.version);
  }
  if (version === undefined) throw notFound(resolved.model);
  return version;
}

const notFound = (model: string) =>
  ServingError.MODEL_NOT_FOUND({ param: 'model', model: model.slice(0, 200) });
