import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { applyHead, type HeadState, initialHead } from '../../shared/lineage/head.ts';
import { isLogError } from '../../shared/log/errors.ts';
import type { EventLog } from '../../shared/log/event-log.ts';
import type { PolicyVersion } from './engine/engine.ts';

/** What this process knows of the lineage of one adapter. */
export type AdapterHead = {
  readonly head: () => PolicyVersion;
  /** A version that was once the head and whose checkpoint is still kept; version 0 always is. */
  readonly find: (version: number) => PolicyVersion | undefined;
  readonly kept: () => readonly number[];
  /** Calls at once with the head when the view is caught up, and then whenever the head moves. */
  readonly onHead: (listener: (head: PolicyVersion) => void) => void;
};

/** The lineages of the adapters that are served here: a fold of `training` in memory. */
export type HeadView = {
  /** @throws Error for an adapter that is not followed */
  readonly of: (adapter: string) => AdapterHead;
  readonly isCaughtUp: () => boolean;
  /**
   * Records that the view has not read yet, marks of transactions among them; undefined: the log does not
   * say.
   */
  readonly behind: () => Promise<number | undefined>;
  /** Resolves when the view reached the end of the log as it was at the start. */
  readonly caughtUp: Promise<void>;
  /** For a look-up that missed: waits until the end as of now was reached, at most 2 s. */
  readonly reachEnd: () => Promise<void>;
  /** Why the view goes no further: the log was written on by a newer version. What is served stays. */
  readonly stopped: () => string | undefined;
  /** Rejects when the log cannot be followed any more, for any other reason. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'ends'>;
  readonly adapters: readonly string[];
  /** folder of an adapter's checkpoints */
  readonly checkpointsOf: (adapter: string) => string;
  readonly signal: AbortSignal;
  /** Sees every fact of `training` that the view reads. */
  readonly onEvent?: (event: ClawLoopEvent) => void;
};

const LONGEST_WAIT_MS = 2_000;
/** ms that a figure may take to be read */
const SCRAPE_MS = 500;

export function followHead({ log, adapters, checkpointsOf, signal, onEvent }: Options): HeadView {
  const heads = new Map(adapters.map((name) => [name, adapterHead(name, checkpointsOf(name))]));
  let caughtUp = false;
  let stopped: string | undefined;
  const next = new Map<number, number>();
  const following = log.follow(
    'training',
    {},
    ({ event, at }) => {
      next.set(at.partition, at.offset + 1);
      onEvent?.(event);
      heads.get(event.subject)?.apply(event);
    },
    signal,
  );
  const behind = async (): Promise<number | undefined> => {
    const ends = await log.ends('training').catch(() => undefined);
    if (ends === undefined) return undefined;
    const left = ends.reduce((sum, end, partition) => sum + Math.max(0, end - (next.get(partition) ?? 0)), 0);
    if (left === 0) return 0;
    // what is left may be marks of transactions alone: then the end is reached at once
    const reached = following.reachEnd().then(
      () => 0,
      () => left,
    );
    return soon(reached, left, SCRAPE_MS / 2);
  };
  const whenCaughtUp = following.caughtUp.then(() => {
    caughtUp = true;
    for (const head of heads.values()) head.catchUp();
  });
  whenCaughtUp.catch(() => {}); // `done` tells why
  return {
    of: (adapter) => {
      const found = heads.get(adapter);
      if (found === undefined) throw new Error(`the adapter ${adapter} is not served here`);
      return found;
    },
    isCaughtUp: () => caughtUp,
    behind: () => soon(behind(), undefined, SCRAPE_MS),
    caughtUp: whenCaughtUp,
    reachEnd: async () => {
      let timer: NodeJS.Timeout | undefined;
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, LONGEST_WAIT_MS);
      });
      await Promise.race([following.reachEnd(), limit]).finally(() => clearTimeout(timer));
    },
    stopped: () => stopped,
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error;
      stopped = error.message;
      return untilAborted(signal);
    }),
  };
}

type FoldedHead = AdapterHead & {
  readonly apply: (event: ClawLoopEvent) => void;
  /** From now on heads are told of. */
  readonly catchUp: () => void;
};

function adapterHead(name: string, checkpoints: string): FoldedHead {
  let state: HeadState = initialHead;
  let caughtUp = false;
  const listeners: ((head: PolicyVersion) => void)[] = [];
  const find = (version: number): PolicyVersion | undefined => {
    const row = state.versions[version];
    if (version === 0) return { version: 0 };
    if (row?.checkpoint == null || row.digest == null) return undefined;
    return { version, adapter: { name, folder: join(checkpoints, row.checkpoint), digest: row.digest } };
  };
  /** While the store is away nobody knows: a version in memory goes on, another one says what is missing. */
  const isKept = (found: PolicyVersion | undefined): boolean =>
    found !== undefined &&
    (found.adapter === undefined || existsSync(found.adapter.folder) || isAway(checkpoints));
  const head = (): PolicyVersion => find(state.head) ?? { version: 0 };
  const tell = () => {
    for (const listener of listeners) listener(head());
  };
  return {
    head,
    find: (version) => {
      const found = find(version);
      return isKept(found) ? found : undefined;
    },
    kept: () =>
      Object.keys(state.versions)
        .map(Number)
        .filter((version) => isKept(find(version)))
        .sort((a, b) => a - b),
    onHead: (listener) => {
      listeners.push(listener);
      if (caughtUp) listener(head());
    },
    apply: (event) => {
      const before = state.head;
      state = applyHead(state, event);
      if (caughtUp && state.head !== before) tell();
    },
    catchUp: () => {
      caughtUp = true;
      tell();
    },
  };
}

/** Holds no checkpoint at all, as a mount that is away. */
function isAway(checkpoints: string): boolean {
  try {
    return !readdirSync(checkpoints).some((name) => /^\d/.test(name));
  } catch {
    return true;
  }
}

/** The answer, or `otherwise` where it takes longer than a scrape should. */
async function soon<Answer>(answer: Promise<Answer>, otherwise: Answer, ms: number): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<Answer>((resolve) => {
    timer = setTimeout(resolve, ms, otherwise);
  });
  return await Promise.race([answer, limit]).finally(() => clearTimeout(timer));
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** The view of an engine that has no other version than the base. */
export const onlyBase: Pick<HeadView, 'of' | 'reachEnd'> = {
  of: () => ({
    head: () => ({ version: 0 }),
    find: (version) => (version === 0 ? { version } : undefined),
    kept: () => [0],
    onHead: (listener) => listener({ version: 0 }),
  }),
  reachEnd: async () => {},
};
