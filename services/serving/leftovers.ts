import { readdir, readFile, rm, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { parseEvent } from '../../shared/events/parse-event.ts';
import { leftoversIn, lookAtLeftover } from '../../shared/lang/leftover-files.ts';
import { type Excess, excessOf, type LeftoverLimit } from '../../shared/lang/leftovers.ts';
import type { DataFolder } from '../../shared/runtime/data-folder.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { BROKEN } from './answer/outbox.ts';
import type { Engine } from './generation.ts';

type Options = {
  readonly data: Pick<DataFolder, 'outbox' | 'adaptersOfAll'>;
  readonly limit: LeftoverLimit;
  readonly engine: Pick<Engine, 'withAdapterNames'>;
  readonly logger: Pick<Logger, 'info' | 'debug'>;
  /** ms since 1970 */
  readonly now?: () => number;
};

/**
 * ms for which no serving says that it uses a copy of an adapter. Another one may share the folder, with an engine that
 * this one does not know; each marks what its own engine holds far more often.
 */
const UNUSED_MS = 24 * 3_600_000;

/** Copies of versions, and those whose writer died. */
const isCopy = (name: string): boolean => /^clawloop-.+-v\d+-[0-9a-f]{8}$/.test(name) || /^\.tmp-/.test(name);

/** Removes what serving leaves behind, as far as it exceeds the limit. */
export function createLeftovers(options: Options): { readonly tidy: () => Promise<void> } {
  const { engine, logger } = options;
  const withNames = engine.withAdapterNames ?? ((work) => work(new Set()));
  const onFailure = (error: unknown): void =>
    logger.debug({ err: error }, 'could not remove leftovers; will retry');
  return {
    tidy: async () => {
      await removeEvents(options).catch(onFailure);
      // while the engine does not answer, nobody knows what it holds
      await withNames((names) => removeCopies(options, names)).catch(onFailure);
    },
  };
}

/** Events that were set aside. One of a newer version stays, since the newer ClawLoop can read it. */
async function removeEvents({ data, limit, logger, now = Date.now }: Options): Promise<void> {
  const aside = await leftoversIn(data.outbox, (name) => name.endsWith(BROKEN));
  for (const one of excessOf(aside, limit, now())) {
    const text = await readFile(one.path, 'utf8').catch(() => '');
    if (parseEvent(text).kind === 'newer') continue;
    await rm(one.path, { force: true });
    report(logger, one, 'removed an event that was set aside');
  }
}

async function removeCopies(options: Options, inUse: ReadonlySet<string>): Promise<void> {
  const { data, limit, logger, now = Date.now } = options;
  const at = now();
  for (const adapter of await readdir(data.adaptersOfAll).catch(() => [])) {
    const copies = await leftoversIn(join(data.adaptersOfAll, adapter), isCopy);
    const isUsed = ({ path }: { readonly path: string }): boolean => inUse.has(basename(path));
    for (const { path } of copies.filter(isUsed)) await utimes(path, at / 1_000, at / 1_000).catch(() => {});
    const unused = copies.filter((copy) => !isUsed(copy) && at - copy.since > UNUSED_MS);
    for (const one of excessOf(unused, limit, at)) {
      const still = await lookAtLeftover(one.path);
      if (still?.since !== one.since) continue; // another process uses it again
      await rm(one.path, { recursive: true, force: true });
      report(logger, one, 'removed a copy of an adapter that no engine lists');
    }
  }
}

const report = (logger: Options['logger'], { path, bytes, reason }: Excess, what: string): void =>
  logger.info({ path, bytes, reason }, what);
