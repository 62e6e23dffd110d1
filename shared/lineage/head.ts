import type { BatchSubmitted } from '../events/batch-submitted.ts';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { PolicyCanaryStarted } from '../events/policy-canary-started.ts';
import { defined } from '../lang/defined.ts';

/** A version that was once the head. Version 0 is the base, which has no checkpoint. */
export type VersionRow = {
  readonly parent: number | null;
  /** folder name under the checkpoint store */
  readonly checkpoint: string | null;
  readonly digest: string | null;
};

export type OpenBatch = BatchSubmitted['data'];

/** The candidate of the open batch, while it answers a share of the sessions. */
export type Canary = PolicyCanaryStarted['data'];

/** The state of one adapter's head, kept in memory (`HeadState`) or in rows (head-rows.ts). */
export type HeadView = {
  readonly head: number;
  /** number of the last batch, which is also the largest version number given out */
  readonly n: number;
  readonly open: OpenBatch | null;
  /** absent: none */
  readonly canary?: Canary | null;
  readonly version: (version: number) => VersionRow | undefined;
  /** Ids of operators' commands are few and kept forever, so that a late copy changes nothing. */
  readonly hasCommand: (id: string) => boolean;
};

/** The change by an event; absent fields stay the same. */
export type HeadChange = {
  readonly head?: number;
  readonly n?: number;
  readonly open?: OpenBatch | null;
  readonly canary?: Canary | null;
  readonly version?: readonly [number, VersionRow];
  readonly command?: string;
};

export const baseVersion: VersionRow = { parent: null, checkpoint: null, digest: null };

/** Types of the events that may change a head. */
export const headTypes: ReadonlySet<string> = new Set<ClawLoopEvent['type']>([
  ...(['batch.submitted', 'policy.canary-started', 'policy.promoted'] as const),
  ...(['policy.rejected', 'policy.update-failed', 'policy.rolled-back', 'batch.returned'] as const),
]);

/**
 * The rules of the lineage. `promoted` and `rolled-back` name the version that they start from and apply only
 * there.
 */
export function headChange(view: HeadView, event: ClawLoopEvent): HeadChange | undefined {
  switch (event.type) {
    case 'batch.submitted':
      return event.data.n > view.n ? { open: event.data, n: event.data.n } : undefined;
    case 'policy.canary-started':
      if (view.open?.batchId !== event.data.batchId || view.canary != null) return undefined;
      return { canary: event.data };
    case 'policy.promoted': {
      // Only the open batch can get an outcome; the first one in log order counts.
      if (view.open?.batchId !== event.data.batchId) return undefined;
      const { from, to, checkpoint, digest } = event.data;
      if (from !== view.head) return { open: null, ...ended(view) }; // the parent was rolled back; this is still the batch's outcome
      return { open: null, ...ended(view), head: to, version: [to, { parent: from, checkpoint, digest }] };
    }
    case 'policy.rejected':
    case 'policy.update-failed':
      return view.open?.batchId === event.data.batchId ? { open: null, ...ended(view) } : undefined;
    case 'policy.rolled-back': {
      if (view.hasCommand(event.id)) return undefined;
      const { from, to } = event.data;
      const applies = staleness(view, from, view.head) >= 0 && view.version(to) !== undefined;
      return { command: event.id, ...defined({ head: applies ? to : undefined }) };
    }
    case 'batch.returned':
      return view.hasCommand(event.id) ? undefined : { command: event.id };
    default:
      return undefined;
  }
}

/** The outcome of a batch also ends its canary. */
const ended = ({ canary }: HeadView): HeadChange => (canary == null ? {} : { canary: null });

/** The canary that sessions meet: none once its parent is not the head, although its batch is still open. */
export const servedCanary = ({ canary, head }: Pick<HeadView, 'canary' | 'head'>): Canary | undefined =>
  canary?.from === head ? canary : undefined;

/** Versions from `version` back to the base. */
export function lineage(view: Pick<HeadView, 'version'>, version: number): readonly number[] {
  const path: number[] = [];
  for (let at: number | null = version; at !== null; at = view.version(at)?.parent ?? null) path.push(at);
  return path;
}

/**
 * Steps from `from` to `version` along the lineage, which may differ from the difference of numbers; -1: not on
 * it.
 */
export function staleness(view: Pick<HeadView, 'version'>, from: number, version: number): number {
  let steps = 0;
  for (let at: number | null = version; at !== null; at = view.version(at)?.parent ?? null, steps++)
    if (at === from) return steps;
  return -1;
}

/** The head in memory, as serving, trainer and cli keep it while they follow `training`. */
export type HeadState = {
  readonly head: number;
  readonly n: number;
  readonly open: OpenBatch | null;
  readonly canary?: Canary | null;
  /** by version number */
  readonly versions: Readonly<Record<number, VersionRow>>;
  readonly commands: Readonly<Record<string, true>>;
};

export const initialHead: HeadState = {
  head: 0,
  n: 0,
  open: null,
  versions: { 0: baseVersion },
  commands: {},
};

export const viewOf = (state: HeadState): HeadView => ({
  head: state.head,
  n: state.n,
  open: state.open,
  canary: state.canary ?? null,
  version: (version) => state.versions[version],
  hasCommand: (id) => state.commands[id] === true,
});

/**
 * The state after an event of `training`; the same object if nothing changes. Events of other topics change
 * nothing.
 */
export function applyHead(state: HeadState, event: ClawLoopEvent): HeadState {
  const change = headChange(viewOf(state), event);
  return change === undefined ? state : changed(state, change);
}

function changed(state: HeadState, { version, command, ...plain }: HeadChange): HeadState {
  return {
    ...state,
    ...plain,
    ...defined({
      versions: version && { ...state.versions, [version[0]]: version[1] },
      commands: command === undefined ? undefined : { ...state.commands, [command]: true as const },
    }),
  };
}

/**
 * Follows a head. Unlike `applyHead` it does not copy all versions at each promotion: the versions of an earlier
 * state gain those that come later.
 */
export function openHead(from: HeadState = initialHead) {
  const versions: Record<number, VersionRow> = { ...from.versions };
  let state: HeadState = { ...from, versions };
  return {
    /** False: the event changes nothing. */
    on: (event: ClawLoopEvent): boolean => {
      const change = headChange(viewOf(state), event);
      if (change === undefined) return false;
      const { version, ...others } = change;
      if (version !== undefined) versions[version[0]] = version[1];
      state = changed(state, others);
      return true;
    },
    state: (): HeadState => state,
  };
}
