import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { applyHead, type HeadState, initialHead, servedCanary } from '../../../shared/lineage/head.ts';
import type { NamedCheckpoint } from './backup-folder.ts';

/** Events of `training` that name a checkpoint, or decide which one is in use. */
export const lineageTypes: ReadonlySet<string> = new Set([
  'batch.submitted',
  'policy.trained',
  'policy.canary-started',
  'policy.promoted',
  'policy.rejected',
  'policy.update-failed',
  'policy.rolled-back',
]);

export type Lineage = {
  /** Every checkpoint that the log names, those in use first, then the newest. Many no longer exist. */
  readonly named: readonly (NamedCheckpoint & { readonly isInUse: boolean })[];
  /** The head of each adapter that has trained. */
  readonly versions: Readonly<Record<string, number>>;
};

/** Reads the lineage events of a log, in the order of each adapter. */
export function lineageOf(events: Iterable<ClawLoopEvent>): Lineage {
  const heads = new Map<string, HeadState>();
  const named = new Map<string, NamedCheckpoint>();
  for (const event of events) {
    const checkpoint = namedBy(event);
    if (checkpoint !== undefined) named.set(`${checkpoint.adapter} ${checkpoint.name}`, checkpoint);
    if (!('adapter' in event.data) || event.data.adapter === undefined) continue;
    const { adapter } = event.data;
    heads.set(adapter, applyHead(heads.get(adapter) ?? initialHead, event));
  }
  const isInUse = ({ adapter, version }: NamedCheckpoint) => inUse(heads.get(adapter)).has(version);
  return {
    named: [...named.values()]
      .map((one) => ({ ...one, isInUse: isInUse(one) }))
      .sort((a, b) => Number(b.isInUse) - Number(a.isInUse) || b.version - a.version),
    versions: Object.fromEntries([...heads].map(([adapter, { head }]) => [adapter, head])),
  };
}

function namedBy(event: ClawLoopEvent): NamedCheckpoint | undefined {
  switch (event.type) {
    case 'policy.trained': {
      const { adapter, version, checkpoint: name, digest } = event.data;
      return { adapter, version, name, digest };
    }
    case 'policy.canary-started':
    case 'policy.promoted': {
      const { adapter, to: version, checkpoint: name, digest } = event.data;
      return { adapter, version, name, digest };
    }
    default:
      return undefined;
  }
}

/** Versions without which an adapter does not go on: the head, its canary, and the parent of the open batch. */
function inUse(state: HeadState = initialHead): ReadonlySet<number | undefined> {
  return new Set([state.head, servedCanary(state)?.to, state.open?.parent]);
}
