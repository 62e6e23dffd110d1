import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { aborted, withDeadline } from '../../../shared/lang/async.ts';
import {
  type HeadState,
  headTypes,
  initialHead,
  openHead,
  servedCanary,
} from '../../../shared/lineage/head.ts';
import { isLogError } from '../../../shared/log/errors.ts';
import type { EventLog, Offsets } from '../../../shared/log/event-log.ts';
import type { PolicyVersion } from '../generation.ts';

/** The lineage of one adapter, as far as this process has read it. */
export type AdapterHead = {
  readonly head: () => PolicyVersion;
  /** A former or current head whose checkpoint still exists; version 0 always does. */
  readonly find: (version: number) => PolicyVersion | undefined;
  readonly kept: () => readonly number[];
  /** Whether the version was ever the head. */
  readonly wasServed: (version: number) => boolean;
  /** Number of the last batch; 0: none. */
  readonly lastBatch: () => number;
  readonly state: () => HeadState;
  /** Calls the listener when the view is caught up, and then whenever the head changes. */
  readonly onHead: (listener: (head: PolicyVersion) => void) => void;
  /** Calls the listener when the view is caught up, and then whenever a canary starts or ends; undefined: none. */
  readonly onCanary: (listener: (canary: ServedCanary | undefined) => void) => void;
};

/** A candidate that answers a share of the sessions. */
export type ServedCanary = { readonly policy: PolicyVersion; readonly share: number };

/** The lineages of the served adapters: a fold of `training` in memory. */
export type HeadView = {
  /** @throws Error for an adapter that is not served */
  readonly of: (adapter: string) => AdapterHead;
  readonly isCaughtUp: () => boolean;
  /** How far the view has read, per partition. */
  readonly position: () => readonly number[];
  /**
   * Number of records that the view has not read yet, including transaction markers; undefined: the log is
   * unavailable.
   */
  readonly behind: () => Promise<number | undefined>;
  /** Resolves when the view has read everything that was in the log at the start. */
  readonly caughtUp: Promise<void>;
  /** Waits until the view has reached the current end of the log, at most 2 s. For look-ups that found nothing. */
  readonly reachEnd: () => Promise<void>;
  /** Why the view stopped: a newer program version writes the log. Served versions stay. */
  readonly stopped: () => string | undefined;
  /** Rejects if following the log fails for any other reason. */
  readonly done: Promise<void>;
};

type Options = {
  readonly log: Pick<EventLog, 'follow' | 'ends'>;
  readonly adapters: readonly string[];
  /** folder of an adapter's checkpoints */
  readonly checkpointsOf: (adapter: string) => string;
  /** whether a checkpoint still exists, by its name; default: its folder does */
  readonly isKept?: ((adapter: string, checkpoint: string) => boolean) | undefined;
  readonly signal: AbortSignal;
  /** Receives every event of `training` that the view reads: of these types, and those that change a head. */
  readonly onEvent?: (event: ClawLoopEvent) => void;
  readonly types?: ReadonlySet<string>;
  /** The states of all served adapters, and the offsets up to which they are folded; default: the beginning. */
  readonly from?: HeadsRead | undefined;
};

type HeadsRead = {
  readonly offsets: Offsets;
  readonly heads: Readonly<Record<string, HeadState>>;
};

const LONGEST_WAIT_MS = 2_000;
/** ms to read a metric */
const SCRAPE_MS = 500;

export function followHead(options: Options): HeadView {
  const { log, adapters, checkpointsOf, signal, onEvent, types = headTypes, from } = options;
  const isKept = options.isKept ?? ((adapter, name) => isInFolder(checkpointsOf(adapter), name));
  const heads = new Map(
    adapters.map((name) => {
      const isKeptHere = (checkpoint: string) => isKept(name, checkpoint);
      return [name, adapterHead(name, checkpointsOf(name), isKeptHere, from?.heads[name])];
    }),
  );
  let caughtUp = false;
  let stopped: string | undefined;
  const following = log.follow(
    'training',
    from?.offsets ?? {},
    ({ event }) => {
      onEvent?.(event);
      heads.get(event.subject)?.apply(event);
    },
    { signal, wants: new Set([...headTypes, ...types]) },
  );
  const behind = async (): Promise<number | undefined> => {
    const ends = await log.ends('training').catch(() => undefined);
    if (ends === undefined) return undefined;
    const next = following.position();
    const left = ends.reduce((sum, end, partition) => sum + Math.max(0, end - (next[partition] ?? 0)), 0);
    if (left === 0) return 0;
    // if only transaction markers are left, the end is reached immediately
    const reached = following.reachEnd().then(
      () => 0,
      () => left,
    );
    return withDeadline(reached, SCRAPE_MS / 2, () => left);
  };
  const whenCaughtUp = following.caughtUp.then(() => {
    caughtUp = true;
    for (const head of heads.values()) head.catchUp();
  });
  whenCaughtUp.catch(() => {}); // `done` reports the reason
  return {
    of: (adapter) => {
      const head = heads.get(adapter);
      if (head === undefined) throw new Error(`adapter ${adapter} is not served`);
      return head;
    },
    isCaughtUp: () => caughtUp,
    position: following.position,
    behind: () => withDeadline(behind(), SCRAPE_MS, () => undefined),
    caughtUp: whenCaughtUp,
    reachEnd: () => withDeadline(following.reachEnd(), LONGEST_WAIT_MS, () => {}),
    stopped: () => stopped,
    done: following.done.catch((error: Error) => {
      if (!isLogError(error, 'NewerSchema')) throw error;
      stopped = error.message;
      return aborted(signal);
    }),
  };
}

type FoldedHead = AdapterHead & {
  readonly apply: (event: ClawLoopEvent) => void;
  /** From now on, listeners are called. */
  readonly catchUp: () => void;
};

function adapterHead(
  name: string,
  checkpoints: string,
  isKeptHere: (checkpoint: string) => boolean,
  from?: HeadState,
): FoldedHead {
  const lineage = openHead(from);
  let caughtUp = false;
  const listeners: ((head: PolicyVersion) => void)[] = [];
  const canaryListeners: ((canary: ServedCanary | undefined) => void)[] = [];
  const find = (version: number): PolicyVersion | undefined => {
    const row = lineage.state().versions[version];
    if (version === 0) return { version: 0 };
    if (row?.checkpoint == null || row.digest == null) return undefined;
    return { version, adapter: { name, folder: join(checkpoints, row.checkpoint), digest: row.digest } };
  };
  const isKept = (policy: PolicyVersion | undefined): boolean =>
    policy !== undefined && (policy.adapter === undefined || isKeptHere(basename(policy.adapter.folder)));
  const head = (): PolicyVersion => find(lineage.state().head) ?? { version: 0 };
  const notify = () => {
    for (const listener of listeners) listener(head());
  };
  const canary = (): ServedCanary | undefined => {
    const started = servedCanary(lineage.state());
    if (started === undefined) return undefined;
    const { to, checkpoint, digest, share } = started;
    const adapter = { name, folder: join(checkpoints, checkpoint), digest };
    return { policy: { version: to, adapter }, share };
  };
  const notifyCanary = () => {
    for (const listener of canaryListeners) listener(canary());
  };
  return {
    head,
    find: (version) => {
      const policy = find(version);
      return isKept(policy) ? policy : undefined;
    },
    kept: () =>
      Object.keys(lineage.state().versions)
        .map(Number)
        .filter((version) => isKept(find(version)))
        .sort((a, b) => a - b),
    wasServed: (version) => lineage.state().versions[version] !== undefined,
    lastBatch: () => lineage.state().n,
    state: lineage.state,
    onHead: (listener) => {
      listeners.push(listener);
      if (caughtUp) listener(head());
    },
    onCanary: (listener) => {
      canaryListeners.push(listener);
      if (caughtUp) listener(canary());
    },
    apply: (event) => {
      const before = lineage.state();
      lineage.on(event);
      const state = lineage.state();
      if (!caughtUp) return;
      if (state.head !== before.head) notify();
      if (state.canary !== before.canary || state.head !== before.head) notifyCanary();
    },
    catchUp: () => {
      caughtUp = true;
      notify();
      notifyCanary();
    },
  };
}

/** If the checkpoint store is unavailable, versions count as kept: loaded ones still work, loading others fails. */
const isInFolder = (checkpoints: string, name: string): boolean =>
  existsSync(join(checkpoints, name)) || isUnavailable(checkpoints);

/** Whether the folder contains no checkpoint, like an unmounted volume. */
function isUnavailable(checkpoints: string): boolean {
  try {
    return !readdirSync(checkpoints).some((name) => /^\d/.test(name));
  } catch {
    return true;
  }
}

/** The view for an engine that serves only the base. */
export const onlyBase: Pick<HeadView, 'of' | 'reachEnd'> = {
  of: () => ({
    head: () => ({ version: 0 }),
    find: (version) => (version === 0 ? { version } : undefined),
    kept: () => [0],
    wasServed: (version) => version === 0,
    lastBatch: () => 0,
    state: () => initialHead,
    onHead: (listener) => listener({ version: 0 }),
    onCanary: (listener) => listener(undefined),
  }),
  reachEnd: async () => {},
};
