import { createHash } from 'node:crypto';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import { sampleDigest, samplesDigest } from '../../../shared/lineage/batch-digest.ts';
import { type Audited, digestOf, type Folds, placeNumber, placeOf, type ReportViolation } from './audited.ts';
import type { Books } from './books/books.ts';
import { openBytes, openColumn, openMarks } from './books/column.ts';
import type { Names } from './books/ids.ts';

/** Reasons to reject a batch before there is a candidate for the gate. */
const leavesNoCandidate: ReadonlySet<string> = new Set(['not-finite', 'nothing-learned']);

type Batch = Pick<BatchSubmitted['data'], 'n' | 'parent' | 'adapter'> & {
  /** their numbers */
  readonly samples: Uint32Array;
  /** digest, without the canary */
  readonly settings: number;
  trained: Pick<PolicyTrained['data'], 'digest' | 'checkpoint' | 'parent' | 'version'> | undefined;
};

/** bytes of a sha256 */
const SHA256 = 32;

/**
 * Checks that a batch names the places of its samples, that a version was trained from its batch, and that the
 * trained checkpoint is the promoted one. Feed it `training`.
 */
export class BatchCheck {
  readonly #violation: ReportViolation;
  readonly #folds: Folds;
  readonly #items: Names;
  /** by sample: place of its first `sample.ready` that submit could read */
  readonly #readyAt = openColumn('double');
  readonly #counted = openMarks();
  readonly #digestOfSample = openBytes(SHA256);
  /** samples without their words, whose digest is another one now */
  readonly #erased = openMarks();
  readonly #batches = new Map<string, Batch>();
  readonly #latest = new Map<string, number>();
  /** by adapter and epoch: the `following` count of each rewarded sample */
  readonly #following = new Map<string, number[]>();

  constructor(violation: ReportViolation, folds: Folds, { items }: Books) {
    this.#violation = violation;
    this.#folds = folds;
    this.#items = items;
  }

  #noteFollowing(adapter: string, epoch: string, left: number): void {
    const name = `${adapter} ${epoch}`;
    const others = this.#following.get(name);
    if (others === undefined) this.#following.set(name, [left]);
    else others.push(left);
  }

  #onBatch({ data }: BatchSubmitted): void {
    const { batchId, adapter, n, parent, samples, seed, again } = data;
    if (this.#batches.has(batchId)) return;
    const numbers = Uint32Array.from(samples, ({ sampleId }) => this.#items.add(sampleId));
    const batch = {
      n,
      parent,
      adapter,
      samples: numbers,
      settings: digestOf({ ...data.settings, canaryShare: 0 }),
      trained: undefined,
    };
    this.#batches.set(batchId, batch);
    if (again !== undefined) this.#checkAgain(batchId, batch, again);
    const before = this.#latest.get(adapter) ?? 0;
    if (n !== before + 1) this.#violation(`${batchId} follows batch ${before} of ${adapter}`, 'training');
    this.#latest.set(adapter, n);
    const seeded = seedOf(adapter, again === undefined ? n : (this.#batches.get(again)?.n ?? n));
    if (seed !== seeded) this.#violation(`${batchId} has the seed ${seed} instead of ${seeded}`);
    for (const [index, { sampleId, at }] of samples.entries()) {
      const place = this.#readyAt.get(numbers[index]!);
      if (place === 0) continue; // reported by the conservation check
      const ready = placeOf(place);
      if (ready.partition !== at.partition || ready.offset !== at.offset)
        this.#violation(
          `${batchId} reads ${sampleId} at ${at.partition}@${at.offset}, but it is at ${ready.partition}@${ready.offset}`,
        );
    }
  }

  /** It trains nothing but samples of the earlier batch, with its settings. */
  #checkAgain(batchId: string, batch: Batch, again: string): void {
    const earlier = this.#batches.get(again);
    if (earlier === undefined || earlier.adapter !== batch.adapter) {
      this.#violation(`${batchId} trains ${again} again, which is not in the log`, 'training');
      return;
    }
    const others = batch.samples.filter((sample) => !earlier.samples.includes(sample));
    for (const sample of others)
      this.#violation(`${batchId} trains ${again} again, but ${this.#items.nameOf(sample)} was not in it`);
    if (batch.settings !== earlier.settings)
      this.#violation(`${batchId} trains ${again} again, but with other settings`);
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
    const { trained, ...submitted } = batch;
    if (version !== submitted.n) wrong(`to v${version} instead of v${submitted.n}`);
    if (parent !== submitted.parent) wrong(`from v${parent} instead of v${submitted.parent}`);
    if (adapter !== submitted.adapter) wrong(`for ${adapter} instead of ${submitted.adapter}`);
    const digests = Array.from(submitted.samples, (sample) =>
      this.#counted.has(sample) ? this.#digestOfSample.get(sample).toString('hex') : 'absent',
    );
    const isErased = submitted.samples.some((sample) => this.#erased.has(sample));
    // version 1 of the event has no digest
    if (!isErased && !dataschema.endsWith(':1') && data.samplesDigest !== samplesDigest(digests))
      wrong('from samples that differ from those in the log', 'training');
    if (trained === undefined) batch.trained = { digest, checkpoint, parent, version };
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
        const sample = this.#items.add(sampleId);
        if (this.#readyAt.get(sample) === 0 && this.#folds('submit', record))
          this.#readyAt.set(sample, placeNumber(at));
        if (this.#counted.has(sample)) break;
        this.#counted.add(sample);
        this.#digestOfSample.set(sample, sampleDigest(event.data));
        if (event.erased !== undefined) this.#erased.add(sample);
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
