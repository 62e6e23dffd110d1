import type { ServedHead } from './serve-head.ts';

/** What is in service of all adapters. */
export type ServedHeads = {
  /** Why no version of an adapter is in service and none will be soon; undefined while one is, or is loaded. */
  readonly unserved: (adapter: string) => string | undefined;
  /**
   * Why the service is not ready: an adapter is still being loaded, or none can be. One that cannot be loaded
   * does not keep the others from their callers.
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
