import { ServingError } from '../../errors.ts';
import type { PolicyVersion } from '../../generation.ts';
import type { SequenceRequest } from '../sequence-text.ts';
import type { createPrefixWarmers } from './prefix-warmer.ts';
import type { RecentPrompts } from './recent-prompts.ts';
import type { LoadedVersion, Versions } from './versions.ts';

type LiveVersion = { readonly version: LoadedVersion; readonly recent: RecentPrompts };

type LiveVersions = {
  /** Moves an adapter to a version once it is warm. Rejects with STOPPING if the signal aborts first. */
  readonly serve: (adapter: string, policy: PolicyVersion, signal?: AbortSignal) => Promise<void>;
  /** Undefined if the request pins its version, or if its adapter has no version yet. */
  readonly of: (request: Pick<SequenceRequest, 'target'>) => LiveVersion | undefined;
};

type Options = {
  readonly versions: Pick<Versions, 'retain' | 'release'>;
  readonly warmers: Pick<ReturnType<typeof createPrefixWarmers>, 'of'>;
  /** Called once per adapter: the prompts that its next version reads before it is served. */
  readonly recentPrompts: () => RecentPrompts;
  /** A warm-up can begin, or a version is live. */
  readonly onWork: () => void;
};

/** The live version of each adapter. */
export function createLiveVersions({ versions, warmers, recentPrompts, onWork }: Options): LiveVersions {
  /** by adapter */
  const live = new Map<string, LiveVersion>();
  return {
    serve: async (adapter, policy, signal) => {
      const warmer = warmers.of(adapter);
      signal?.addEventListener('abort', warmer.stop, { once: true });
      const next = await versions.retain(policy);
      // A lower number is a rollback: the version that it leaves must not answer any more, so there is no warm-up.
      const current = live.get(adapter);
      const isRollback = current !== undefined && next.version < current.version.version;
      const recent = current?.recent ?? recentPrompts();
      const warmed = warmer.warm(next, isRollback || signal?.aborted ? [] : recent.latest());
      onWork();
      await warmed;
      if (signal?.aborted) {
        versions.release(next);
        throw ServingError.STOPPING();
      }
      const before = live.get(adapter);
      live.set(adapter, { version: next, recent: before?.recent ?? recent });
      if (before !== undefined) versions.release(before.version);
      onWork();
    },
    of: ({ target }) => {
      if (target.kind !== 'live') return undefined;
      const candidate = target.canary === undefined ? undefined : live.get(target.canary);
      // a canary that has ended has version 0
      return candidate !== undefined && candidate.version.version > 0 ? candidate : live.get(target.adapter);
    },
  };
}
