import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import type { PolicyUpdateFailed } from '../../../shared/events/policy-update-failed.ts';

type Adapter = {
  openBatch: string | undefined;
  head: number;
  readonly versions: Set<number>;
  readonly parents: Map<number, number | null>;
  readonly outcomes: Map<string, string>;
  readonly batches: Set<string>;
};

type Outcome = PolicyPromoted | PolicyRejected | PolicyUpdateFailed;
const isOutcome = (event: ClawLoopEvent): event is Outcome =>
  event.type === 'policy.promoted' ||
  event.type === 'policy.rejected' ||
  event.type === 'policy.update-failed';

/**
 * Batches and lineage of each adapter, in log order, on its own reckoning (not that of shared/lineage): one open batch at a
 * time, one outcome each, numbers never used again, the head moved only from the head.
 */
export function createLineageCheck(broken: (sentence: string) => void) {
  const adapters = new Map<string, Adapter>();
  const counts = {
    batches: 0,
    promoted: 0,
    rejected: 0,
    'update failed': 0,
    'parent rolled back': 0,
    rollbacks: 0,
  };
  const adapterOf = (name: string): Adapter => {
    const found = adapters.get(name);
    if (found !== undefined) return found;
    const fresh = {
      openBatch: undefined,
      head: 0,
      versions: new Set<number>([0]),
      parents: new Map<number, number | null>([[0, null]]),
      outcomes: new Map<string, string>(),
      batches: new Set<string>(),
    };
    adapters.set(name, fresh);
    return fresh;
  };
  const descends = (adapter: Adapter, version: number, from: number): boolean => {
    for (let at: number | null | undefined = version; at != null; at = adapter.parents.get(at))
      if (at === from) return true;
    return false;
  };

  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'batch.submitted') {
      const adapter = adapterOf(event.subject);
      const { batchId, n, parent } = event.data;
      if (adapter.batches.has(batchId)) return;
      if (adapter.openBatch !== undefined)
        broken(`${batchId} was submitted while ${adapter.openBatch} was open`);
      if (adapter.versions.has(n)) broken(`${event.subject} v${n} is used twice`);
      if (parent !== adapter.head)
        broken(`${batchId} starts from v${parent}, but the head was v${adapter.head}`);
      adapter.batches.add(batchId);
      adapter.versions.add(n);
      adapter.openBatch = batchId;
      counts.batches += 1;
    } else if (isOutcome(event)) onOutcome(event);
    else if (event.type === 'policy.rolled-back') {
      const adapter = adapterOf(event.subject);
      const { from, to } = event.data;
      if (!descends(adapter, adapter.head, from) || !adapter.parents.has(to)) return;
      adapter.head = to;
      counts.rollbacks += 1;
    } else if (event.type === 'policy.loaded') {
      if (!adapterOf(event.subject).parents.has(event.data.version))
        broken(`v${event.data.version} of ${event.subject} was loaded, but never promoted`);
    }
  };

  /** The first outcome of an open batch counts; what comes later for the same batch is void by rule, and no violation. */
  const onOutcome = (event: Outcome): void => {
    const adapter = adapterOf(event.subject);
    const { batchId } = event.data;
    if (adapter.outcomes.has(batchId)) return;
    if (adapter.openBatch !== batchId) {
      broken(`${event.type} names ${batchId}, which was not open`);
      return;
    }
    adapter.openBatch = undefined;
    adapter.outcomes.set(batchId, event.type);
    if (event.type === 'policy.rejected') counts.rejected += 1;
    else if (event.type === 'policy.update-failed') counts['update failed'] += 1;
    else if (event.data.from !== adapter.head) counts['parent rolled back'] += 1;
    else {
      adapter.parents.set(event.data.to, event.data.from);
      adapter.head = event.data.to;
      counts.promoted += 1;
    }
  };

  const report = () => ({
    counts,
    open: {
      'batches without an outcome': [...adapters.values()].filter((one) => one.openBatch !== undefined)
        .length,
    },
  });
  return { on, report };
}
