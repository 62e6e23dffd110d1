import type { EpisodeOptions, OpenEnvironment } from '../environment.ts';
import type { Pool } from './pool.ts';

/** A kind of pool server. `Row` is one task, as the lines of `--data` have it. */
export type PoolKind<Row> = {
  /** @throws ZodError when the line is not of this kind */
  readonly read: (line: unknown) => { readonly name: string; readonly row: Row };
  /** ms for giving a place back */
  readonly closeLimitMs: number;
  /**
   * @throws EnvironmentFailure
   * @throws UsageError when no attempt can work at this server
   */
  readonly open: (pool: Pool, row: Row, options: OpenOptions) => Promise<OpenEnvironment>;
};

export type OpenOptions = EpisodeOptions & {
  /** ms for one action */
  readonly actLimitMs: number;
};

/**
 * Lets repeated calls share a call in progress: a rating that timed out continues at the server, and a second rating
 * would disturb it.
 */
export function shared<Value>(work: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | undefined;
  return () => {
    current ??= work().finally(() => (current = undefined));
    return current;
  };
}
