import type { ServedHead } from './serve-head.ts';

/** Whether all adapters are served. */
type ServedHeads = {
  /** Why no version of an adapter is or will soon be served; undefined while a version is served or loading. */
  readonly unserved: (adapter: string) => string | undefined;
  /**
   * Why the service is not ready: an adapter is still loading, or none can be loaded. A single adapter that cannot
   * be loaded does not block the others.
   */
  readonly missing: () => string | undefined;
};

export function serveHeads(adapters: readonly string[], serve: (adapter: string) => ServedHead): ServedHeads {
  const heads = new Map(adapters.map((adapter) => [adapter, serve(adapter)]));
  const problemOf = ({ served, problem }: ServedHead) => (served() === undefined ? problem() : undefined);
  return {
    unserved: (adapter) => problemOf(heads.get(adapter)!),
    missing: () => {
      const all = [...heads.values()];
      const unserved = all.filter((head) => head.served() === undefined);
      if (unserved.some((head) => head.problem() === undefined)) return 'loading the policy';
      return unserved.length < all.length ? undefined : problemOf(unserved[0]!);
    },
  };
}
