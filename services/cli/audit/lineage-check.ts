import type { BatchReturned } from '../../../shared/events/batch-returned.ts';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyRejected } from '../../../shared/events/policy-rejected.ts';
import type { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import type { PolicyUpdateFailed } from '../../../shared/events/policy-update-failed.ts';
import { batchDigest } from '../../../shared/lineage/batch-digest.ts';
import type { Audited, ReportViolation } from './audited.ts';
import type { Books } from './books/books.ts';
import { openColumn } from './books/column.ts';

type Adapter = {
  openBatch: string | undefined;
  /** the open batch has a candidate on canary: nobody owes an outcome before its verdicts decide */
  onCanary: boolean;
  /** when it was submitted, ms since 1970 */
  openSince: number;
  head: number;
  readonly versions: Set<number>;
  readonly parents: Map<number, number | null>;
  /** past heads, and whether a rollback was the last to lead away from them */
  readonly left: Map<number, boolean>;
  readonly outcomes: Map<string, string>;
  /** numbers of the batches with its samples, the first of them its own */
  readonly batches: Map<string, readonly number[]>;
  /** by batch: samples that an operator wants to train again */
  readonly returned: Map<string, ReadonlySet<string>>;
  lastBatch: BatchSubmitted['data'] | undefined;
  /** numbers of batches after which a smaller batch was requested */
  readonly requestedAfter: Set<number>;
  /** versions that answered, each with its first interaction */
  readonly answeredBy: Map<number, string>;
  /** versions that were on canary */
  readonly canaries: Set<number>;
};

const latestOf = (versions: ReadonlySet<number>): number =>
  [...versions].reduce((most, version) => Math.max(most, version));

type Outcome = PolicyPromoted | PolicyRejected | PolicyUpdateFailed;
const isOutcome = (event: ClawLoopEvent): event is Outcome =>
  event.type === 'policy.promoted' ||
  event.type === 'policy.rejected' ||
  event.type === 'policy.update-failed';

/**
 * Checks batches and lineage of each adapter in log order, without the code of shared/lineage: one open batch
 * at a time, one outcome each, no number used twice, the head moved only from the head, samples on the lineage
 * and fresh enough, smaller batches and batches that train again only on request, no answer by a version that was
 * never promoted.
 */
export class LineageCheck {
  readonly #violation: ReportViolation;
  /** by adapter and sample: the version that sampled it */
  readonly #sampledBy;
  readonly #adapters = new Map<string, Adapter>();
  readonly #counts = {
    batches: 0,
    promoted: 0,
    rejected: 0,
    'update failed': 0,
    'parent rolled back': 0,
    rollbacks: 0,
  };
  readonly #commands = new Set<string>();

  constructor(violation: ReportViolation, books: Books) {
    this.#violation = violation;
    this.#sampledBy = openSampledBy(books);
  }

  #adapterOf(name: string): Adapter {
    const known = this.#adapters.get(name);
    if (known !== undefined) return known;
    const fresh = {
      openBatch: undefined,
      onCanary: false,
      openSince: 0,
      head: 0,
      versions: new Set<number>([0]),
      parents: new Map<number, number | null>([[0, null]]),
      left: new Map<number, boolean>(),
      outcomes: new Map<string, string>(),
      batches: new Map<string, readonly number[]>(),
      returned: new Map<string, ReadonlySet<string>>(),
      lastBatch: undefined,
      requestedAfter: new Set<number>(),
      answeredBy: new Map<number, string>(),
      canaries: new Set<number>(),
    };
    this.#adapters.set(name, fresh);
    return fresh;
  }

  /** Steps from `from` to `version` along the lineage; -1 if `from` is not on it. */
  #stepsBetween(adapter: Adapter, from: number, version: number): number {
    let steps = 0;
    for (let at: number | null | undefined = version; at != null; at = adapter.parents.get(at), steps++)
      if (at === from) return steps;
    return -1;
  }

  #onBatch({ subject, data }: BatchSubmitted, time: number): void {
    const adapter = this.#adapterOf(subject);
    const { batchId, n, parent, again } = data;
    if (adapter.batches.has(batchId)) return;
    if (again === undefined) this.#checkSamples(subject, data);
    else this.#checkAgain(adapter, data, again);
    if (adapter.openBatch !== undefined)
      this.#violation(`${batchId} was submitted while ${adapter.openBatch} was open`);
    if (adapter.versions.has(n)) this.#violation(`${subject} v${n} is used twice`);
    // not "is the head": a rollback may come between reading the head and submitting
    if (!adapter.parents.has(parent))
      this.#violation(`${batchId} starts from v${parent}, which was never promoted`, 'training');
    else if (parent !== adapter.head && !adapter.left.get(parent))
      this.#violation(`${batchId} starts from v${parent}, although v${adapter.head} is the head`, 'training');
    adapter.batches.set(batchId, [n]);
    adapter.lastBatch = data;
    adapter.versions.add(n);
    adapter.openBatch = batchId;
    adapter.onCanary = false;
    adapter.openSince = time;
    this.#counts.batches += 1;
  }

  #onRolledBack({ id, subject, data }: PolicyRolledBack): void {
    const adapter = this.#adapterOf(subject);
    const { from, to } = data;
    if (this.#commands.has(id)) return;
    this.#commands.add(id);
    if (this.#stepsBetween(adapter, from, adapter.head) < 0 || !adapter.parents.has(to)) return;
    adapter.left.set(adapter.head, true);
    adapter.head = to;
    this.#counts.rollbacks += 1;
  }

  readonly on = ({ event, time }: Audited): void => {
    if (event.type === 'interaction.completed') {
      const { answeredBy } = this.#adapterOf(event.data.adapter);
      if (!answeredBy.has(event.data.version)) answeredBy.set(event.data.version, event.id);
    } else if (event.type === 'sample.ready') {
      const { sampleId, version } = event.data;
      this.#sampledBy.set(event.subject, sampleId, version);
    } else if (event.type === 'batch.requested') {
      this.#adapterOf(event.subject).requestedAfter.add(event.data.after);
    } else if (event.type === 'batch.returned') this.#onReturned(event);
    else if (event.type === 'batch.submitted') this.#onBatch(event, time);
    else if (event.type === 'policy.trained') this.#checkInput(event);
    else if (event.type === 'policy.canary-started') this.#onCanary(event);
    else if (isOutcome(event)) this.#onOutcome(event);
    else if (event.type === 'policy.rolled-back') this.#onRolledBack(event);
    else if (event.type === 'policy.loaded') {
      if (!this.#adapterOf(event.subject).parents.has(event.data.version))
        this.#violation(
          `v${event.data.version} of ${event.subject} was loaded, but never promoted`,
          'training',
        );
    }
  };

  #checkSamples(subject: string, batch: BatchSubmitted['data']): void {
    const adapter = this.#adapterOf(subject);
    const { batchId, n, parent, size, maxStaleness, samples } = batch;
    if (samples.length === 0) this.#violation(`${batchId} is empty`);
    if (samples.length < size && !adapter.requestedAfter.has(n - 1))
      this.#violation(
        `${batchId} has ${samples.length} of ${size} samples, but nobody asked for a smaller batch`,
      );
    for (const { sampleId } of samples) {
      const version = this.#sampledBy.get(subject, sampleId);
      if (version === undefined) continue; // reported by the conservation check
      const steps = this.#stepsBetween(adapter, version, parent);
      if (steps < 0)
        this.#violation(`${sampleId} of v${version} is off the lineage of ${batchId}`, 'training');
      if (steps > maxStaleness)
        this.#violation(`${sampleId} is ${steps} steps old in ${batchId}, which allows ${maxStaleness}`);
    }
  }

  /** Samples train again only on request, and never on a version that learned from them. */
  #checkAgain(
    adapter: Adapter,
    { batchId, n, parent, samples }: BatchSubmitted['data'],
    again: string,
  ): void {
    const made = adapter.batches.get(again) ?? [];
    const learned = made.find((version) => this.#stepsBetween(adapter, version, parent) >= 0);
    if (learned !== undefined)
      this.#violation(`${batchId} trains ${again} again, but v${parent} learned from it in v${learned}`);
    adapter.batches.set(again, [...made, n]);
    const wanted = adapter.returned.get(again);
    if (samples.length === 0) this.#violation(`${batchId} is empty`);
    for (const { sampleId } of samples)
      if (!wanted?.has(sampleId))
        this.#violation(`${batchId} trains ${sampleId} again, but nobody asked for it`, 'training');
    if (adapter.requestedAfter.has(n - 1)) adapter.requestedAfter.add(n); // the request is for the next new samples
  }

  #onReturned({ subject, data: { batchId, samples } }: BatchReturned): void {
    const { returned } = this.#adapterOf(subject);
    const others = returned.get(batchId) ?? [];
    returned.set(batchId, new Set([...others, ...samples.map(({ sampleId }) => sampleId)]));
  }

  /** Version 1 of the event has no digest. */
  #checkInput({ subject, dataschema, data }: PolicyTrained): void {
    const batch = this.#adapterOf(subject).lastBatch;
    if (batch?.batchId !== data.batchId || dataschema.endsWith(':1')) return;
    if (data.batchDigest !== batchDigest(batch))
      this.#violation(
        `v${data.version} of ${subject} was not trained from ${data.batchId} as it is in the log`,
      );
  }

  #onCanary({ id, subject, data }: PolicyCanaryStarted): void {
    const adapter = this.#adapterOf(subject);
    if (adapter.outcomes.has(data.batchId)) return;
    if (adapter.openBatch !== data.batchId)
      this.#violation(`${id} names ${data.batchId}, which is not open`, 'training');
    else adapter.onCanary = true;
    adapter.canaries.add(data.to);
  }

  /** The first outcome of an open batch counts; later ones are void and no violation. */
  #onOutcome(event: Outcome): void {
    const adapter = this.#adapterOf(event.subject);
    const { batchId } = event.data;
    if (adapter.outcomes.has(batchId)) return;
    if (adapter.openBatch !== batchId) {
      this.#violation(`${event.type} names ${batchId}, which was not open`, 'training');
      return;
    }
    adapter.openBatch = undefined;
    adapter.outcomes.set(batchId, event.type);
    if (event.type === 'policy.rejected') this.#counts.rejected += 1;
    else if (event.type === 'policy.update-failed') this.#counts['update failed'] += 1;
    else if (event.data.from !== adapter.head) {
      this.#counts['parent rolled back'] += 1;
      if (!adapter.left.get(event.data.from))
        this.#violation(
          `${event.id} leads away from v${event.data.from}, which nobody rolled back`,
          'training',
        );
    } else {
      adapter.left.set(adapter.head, false);
      adapter.parents.set(event.data.to, event.data.from);
      adapter.head = event.data.to;
      this.#counts.promoted += 1;
    }
  }

  /** Skips answers that are newer than the batches that were read. */
  #checkAnswers(): void {
    for (const [name, { answeredBy, parents, versions, canaries }] of this.#adapters)
      for (const [version, id] of answeredBy)
        if (!parents.has(version) && !canaries.has(version) && version <= latestOf(versions))
          this.#violation(
            `${id} was answered by v${version} of ${name}, which was never promoted`,
            'training',
          );
  }

  report() {
    this.#checkAnswers();
    const open = [...this.#adapters.values()].filter(({ openBatch }) => openBatch !== undefined);
    return {
      counts: this.#counts,
      open: { 'batches without an outcome': open.length },
      owed: open
        .filter(({ onCanary }) => !onCanary)
        .map(({ openBatch, openSince }) => ({
          what: `${openBatch} has no outcome`,
          since: openSince,
        })),
    };
  }
}

function openSampledBy({ items, names }: Books) {
  /** by sample: number of its adapter's name, plus 1; and the version */
  const [adapters, versions] = [openColumn('int'), openColumn('int')];
  /** samples that a second adapter claims */
  const others = new Map<string, number>();
  return {
    set: (adapter: string, sampleId: string, version: number): void => {
      const [sample, name] = [items.add(sampleId), names.add(adapter) + 1];
      if (adapters.get(sample) === 0) adapters.set(sample, name);
      if (adapters.get(sample) === name) versions.set(sample, version);
      else others.set(`${adapter} ${sampleId}`, version);
    },
    get: (adapter: string, sampleId: string): number | undefined => {
      const [sample, name] = [items.find(sampleId), names.find(adapter) + 1];
      return name > 0 && adapters.get(sample) === name
        ? versions.get(sample)
        : others.get(`${adapter} ${sampleId}`);
    },
  };
}
