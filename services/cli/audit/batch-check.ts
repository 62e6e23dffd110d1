import { createHash } from 'node:crypto';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import type { Position } from '../../../shared/events/position.ts';
import { sampleDigest, samplesDigest } from '../../../shared/lineage/batch-digest.ts';
import type { Audited, Folds, ReportViolation } from './audited.ts';

/** Reasons to reject a batch before there is a candidate for the gate. */
const leavesNoCandidate: ReadonlySet<string> = new Set(['not-finite', 'nothing-learned']);

type Batch = { readonly data: BatchSubmitted['data']; trained: PolicyTrained['data'] | undefined };

/**
 * Checks that a batch names the places of its samples, that a version was trained from its batch, and that the
 * trained checkpoint is the promoted one. Feed it `training`.
 */
export class BatchCheck {
  readonly #violation: ReportViolation;
  readonly #folds: Folds;
  /** by sample: place of its first `sample.ready` that submit could read */
  readonly #readyAt = new Map<string, Position>();
  readonly #counted = new Set<string>();
  readonly #digestOfSample = new Map<string, string>();
  /** samples without their words, whose digest is another one now */
  readonly #erased = new Set<string>();
  readonly #batches = new Map<string, Batch>();
  readonly #latest = new Map<string, number>();
  /** by adapter and epoch: the `following` count of each rewarded sample */
  readonly #following = new Map<string, number[]>();

  constructor(violation: ReportViolation, folds: Folds) {
    this.#violation = violation;
    this.#folds = folds;
  }

  #noteFollowing(adapter: string, epoch: string, left: number): void {
    const name = `${adapter} ${epoch}`;
    const others = this.#following.get(name);
    if (others === undefined) this.#following.set(name, [left]);
    else others.push(left);
  }

  #onBatch({ data }: BatchSubmitted): void {
    const { batchId, adapter, n, samples, seed } = data;
    if (this.#batches.has(batchId)) return;
    this.#batches.set(batchId, { data, trained: undefined });
    const before = this.#latest.get(adapter) ?? 0;
    if (n !== before + 1) this.#violation(`${batchId} follows batch ${before} of ${adapter}`, 'training');
    this.#latest.set(adapter, n);
    if (seed !== seedOf(adapter, n))
      this.#violation(`${batchId} has the seed ${seed} instead of ${seedOf(adapter, n)}`);
    for (const { sampleId, at } of samples) {
      const ready = this.#readyAt.get(sampleId);
      if (ready === undefined) continue; // reported by the conservation check
      if (ready.partition !== at.partition || ready.offset !== at.offset)
        this.#violation(
          `${batchId} reads ${sampleId} at ${at.partition}@${at.offset}, but it is at ${ready.partition}@${ready.offset}`,
        );
    }
  }

  #onTrained({ data, dataschema }: PolicyTrained): void {
    const { batchId, adapter, version, parent, checkpoint, digest } = data;
    const batch = this.#batches.get(batchId);
    if (batch === undefined) {
      this.#violation(`${batchId} was trained, but is not in the log`, 'training');
      return;
    }
    const wrong = (what: string, missingFrom?: Topic) =>
      this.#violation(`${batchId} was trained ${what}`, missingFrom);
    const { data: submitted, trained } = batch;
    if (version !== submitted.n) wrong(`to v${version} instead of v${submitted.n}`);
    if (parent !== submitted.parent) wrong(`from v${parent} instead of v${submitted.parent}`);
    if (adapter !== submitted.adapter) wrong(`for ${adapter} instead of ${submitted.adapter}`);
    const digests = submitted.samples.map(({ sampleId }) => this.#digestOfSample.get(sampleId) ?? 'absent');
    const isErased = submitted.samples.some(({ sampleId }) => this.#erased.has(sampleId));
    // version 1 of the event has no digest
    if (!isErased && !dataschema.endsWith(':1') && data.samplesDigest !== samplesDigest(digests))
      wrong('from samples that differ from those in the log', 'training');
    if (trained === undefined) batch.trained = data;
    else if (trained.digest !== digest || trained.checkpoint !== checkpoint)
      wrong(`twice, with the digests ${trained.digest} and ${digest}`);
  }

  #onPromoted({ data }: PolicyPromoted): void {
    const { batchId, from, to, checkpoint, digest } = data;
    const batch = this.#batches.get(batchId);
    if (batch === undefined) return; // reported by the lineage check
    const wrong = (what: string) => this.#violation(`v${to} was promoted by ${batchId}, ${what}`);
    const { trained } = batch;
    if (trained === undefined) {
      this.#violation(`${batchId} was promoted, but never trained`, 'training');
      return;
    }
    if (digest !== trained.digest) wrong(`with the digest ${digest}, but ${trained.digest} was trained`);
    if (checkpoint !== trained.checkpoint)
      wrong(`with the checkpoint ${checkpoint}, but ${trained.checkpoint} was trained`);
    if (from !== trained.parent || to !== trained.version)
      wrong(`from v${from}, but v${trained.version} was trained from v${trained.parent}`);
  }

  readonly on = (record: Audited): void => {
    const { event, at } = record;
    switch (event.type) {
      case 'sample.ready': {
        const { sampleId, adapter, session, epoch, following: left } = event.data;
        if (!this.#readyAt.has(sampleId) && this.#folds('submit', record)) this.#readyAt.set(sampleId, at);
        if (this.#counted.has(sampleId)) break;
        this.#counted.add(sampleId);
        this.#digestOfSample.set(sampleId, sampleDigest(event.data));
        if (event.erased !== undefined) this.#erased.add(sampleId);
        if (left !== undefined) this.#noteFollowing(adapter, `${session}@${epoch}`, left);
        break;
      }
      case 'sample.dropped':
        if (event.data.coming !== undefined)
          this.#noteFollowing(event.data.adapter, event.data.coming.session, event.data.coming.following);
        break;
      case 'batch.submitted':
        this.#onBatch(event);
        break;
      case 'policy.trained':
        this.#onTrained(event);
        break;
      case 'policy.promoted':
        this.#onPromoted(event);
        break;
      case 'policy.rejected':
        if (
          !leavesNoCandidate.has(event.data.reason) &&
          this.#batches.get(event.data.batchId)?.trained === undefined
        )
          this.#violation(`${event.data.batchId} was rejected by the gate, but never trained`, 'training');
        break;
    }
  };

  /** The last samples of a session may lie past the end of what was read. */
  finish(): void {
    for (const [name, left] of this.#following)
      if (left.some((count, index) => count !== left[0]! - index))
        this.#violation(`the rewarded samples of ${name} count [${left}] following samples`, 'training');
  }
}

/** 31 bits of a hash of the adapter name and batch number. */
export const seedOf = (adapter: string, n: number): number =>
  createHash('sha256').update(`${adapter}\n${n}`).digest().readUInt32BE(0) >>> 1;
