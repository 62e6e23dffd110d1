import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import type { PolicyUpdateFailed } from '../../../shared/events/policy-update-failed.ts';
import { batchDigest } from '../../../shared/lineage/batch-digest.ts';
import type { Audited, Tell } from './audited.ts';

type Adapter = {
  openBatch: string | undefined;
  /** ms since 1970: when it was submitted */
  openSince: number;
  head: number;
  readonly versions: Set<number>;
  readonly parents: Map<number, number | null>;
  /** versions that were the head, and whether a rollback led away from them last */
  readonly left: Map<number, boolean>;
  readonly outcomes: Map<string, string>;
  readonly batches: Set<string>;
  lastBatch: BatchSubmitted['data'] | undefined;
  /** by sample: the version that sampled it */
  readonly sampledBy: Map<string, number>;
  /** numbers of batches after which a smaller one was asked for */
  readonly requestedAfter: Set<number>;
  /** versions that answered, each with the first interaction that named it */
  readonly answeredBy: Map<number, string>;
};

type Outcome = PolicyPromoted | PolicyRejected | PolicyUpdateFailed;
const isOutcome = (event: ClawLoopEvent): event is Outcome =>
  event.type === 'policy.promoted' ||
  event.type === 'policy.rejected' ||
  event.type === 'policy.update-failed';

/**
 * Batches and lineage of each adapter, in log order, on its own reckoning (not that of shared/lineage): one
 * open batch at a time, one outcome each, numbers never used again, the head moved only from the head,
 * samples on the lineage and fresh enough, smaller batches only on request, nothing answered by a version
 * that was never promoted.
 */
export function createLineageCheck(broken: Tell) {
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
      openSince: 0,
      head: 0,
      versions: new Set<number>([0]),
      parents: new Map<number, number | null>([[0, null]]),
      left: new Map<number, boolean>(),
      outcomes: new Map<string, string>(),
      batches: new Set<string>(),
      lastBatch: undefined,
      sampledBy: new Map<string, number>(),
      requestedAfter: new Set<number>(),
      answeredBy: new Map<number, string>(),
    };
    adapters.set(name, fresh);
    return fresh;
  };
  const commands = new Set<string>();
  /** Steps from `from` to `version` along the lineage; -1 when `from` is not on it. */
  const stepsBetween = (adapter: Adapter, from: number, version: number): number => {
    let steps = 0;
    for (let at: number | null | undefined = version; at != null; at = adapter.parents.get(at), steps++)
      if (at === from) return steps;
    return -1;
  };

  const on = ({ event, time }: Audited): void => {
    if (event.type === 'interaction.completed') {
      const { answeredBy } = adapterOf(event.data.adapter);
      if (!answeredBy.has(event.data.version)) answeredBy.set(event.data.version, event.id);
    } else if (event.type === 'sample.ready') {
      adapterOf(event.subject).sampledBy.set(event.data.sampleId, event.data.version);
    } else if (event.type === 'batch.requested') {
      adapterOf(event.subject).requestedAfter.add(event.data.after);
    } else if (event.type === 'batch.submitted') {
      const adapter = adapterOf(event.subject);
      const { batchId, n, parent } = event.data;
      if (adapter.batches.has(batchId)) return;
      checkSamples(adapter, event.data);
      if (adapter.openBatch !== undefined)
        broken(`${batchId} was submitted while ${adapter.openBatch} was open`);
      if (adapter.versions.has(n)) broken(`${event.subject} v${n} is used twice`);
      // Not "is the head": a rollback may have come between what the collector saw and what it submitted.
      if (!adapter.parents.has(parent))
        broken(`${batchId} starts from v${parent}, which was never promoted`, 'training');
      else if (parent !== adapter.head && !adapter.left.get(parent))
        broken(`${batchId} starts from v${parent}, although v${adapter.head} is the head`, 'training');
      adapter.batches.add(batchId);
      adapter.lastBatch = event.data;
      adapter.versions.add(n);
      adapter.openBatch = batchId;
      adapter.openSince = time;
      counts.batches += 1;
    } else if (event.type === 'policy.trained') checkInput(event);
    else if (isOutcome(event)) onOutcome(event);
    else if (event.type === 'policy.rolled-back') {
      const adapter = adapterOf(event.subject);
      const { from, to } = event.data;
      if (commands.has(event.id)) return;
      commands.add(event.id);
      if (stepsBetween(adapter, from, adapter.head) < 0 || !adapter.parents.has(to)) return;
      adapter.left.set(adapter.head, true);
      adapter.head = to;
      counts.rollbacks += 1;
    } else if (event.type === 'policy.loaded') {
      if (!adapterOf(event.subject).parents.has(event.data.version))
        broken(`v${event.data.version} of ${event.subject} was loaded, but never promoted`, 'training');
    }
  };

  const checkSamples = (adapter: Adapter, batch: BatchSubmitted['data']): void => {
    const { batchId, n, parent, size, maxStaleness, samples } = batch;
    if (samples.length === 0) broken(`${batchId} is empty`);
    if (samples.length < size && !adapter.requestedAfter.has(n - 1))
      broken(`${batchId} has ${samples.length} of ${size} samples, and nobody asked for a smaller one`);
    for (const { sampleId } of samples) {
      const version = adapter.sampledBy.get(sampleId);
      if (version === undefined) continue; // said where samples are counted
      const steps = stepsBetween(adapter, version, parent);
      if (steps < 0) broken(`${sampleId} of v${version} is off the lineage of ${batchId}`, 'training');
      if (steps > maxStaleness)
        broken(`${sampleId} is ${steps} steps old in ${batchId}, which allows ${maxStaleness}`);
    }
  };

  /** Version 1 of the fact did not carry the digest. */
  const checkInput = ({ subject, dataschema, data }: PolicyTrained): void => {
    const batch = adapterOf(subject).lastBatch;
    if (batch?.batchId !== data.batchId || dataschema.endsWith(':1')) return;
    if (data.batchDigest !== batchDigest(batch))
      broken(`v${data.version} of ${subject} was not trained from ${data.batchId} as it stands in the log`);
  };

  /**
   * The first outcome of an open batch counts; what comes later for the same batch is void by rule, and no
   * violation.
   */
  const onOutcome = (event: Outcome): void => {
    const adapter = adapterOf(event.subject);
    const { batchId } = event.data;
    if (adapter.outcomes.has(batchId)) return;
    if (adapter.openBatch !== batchId) {
      broken(`${event.type} names ${batchId}, which was not open`, 'training');
      return;
    }
    adapter.openBatch = undefined;
    adapter.outcomes.set(batchId, event.type);
    if (event.type === 'policy.rejected') counts.rejected += 1;
    else if (event.type === 'policy.update-failed') counts['update failed'] += 1;
    else if (event.data.from !== adapter.head) {
      counts['parent rolled back'] += 1;
      if (!adapter.left.get(event.data.from))
        broken(`${event.id} leads away from v${event.data.from}, which nobody rolled back`, 'training');
    } else {
      adapter.left.set(adapter.head, false);
      adapter.parents.set(event.data.to, event.data.from);
      adapter.head = event.data.to;
      counts.promoted += 1;
    }
  };

  /** An answer may be newer than the batches that were read: of those it is said nothing. */
  const checkAnswers = (): void => {
    for (const [name, { answeredBy, parents, versions }] of adapters)
      for (const [version, id] of answeredBy)
        if (!parents.has(version) && version <= Math.max(...versions))
          broken(`${id} was answered by v${version} of ${name}, which was never promoted`, 'training');
  };

  const report = () => {
    checkAnswers();
    const open = [...adapters.values()].filter((one) => one.openBatch !== undefined);
    return {
      counts,
      open: { 'batches without an outcome': open.length },
      owed: open.map((one) => ({ what: `${one.openBatch} has no outcome`, since: one.openSince })),
    };
  };
  return { on, report };
}
