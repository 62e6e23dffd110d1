import { createHash } from 'node:crypto';
import type { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import type { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import type { PolicyTrained } from '../../../shared/events/policy-trained.ts';
import type { Position } from '../../../shared/events/position.ts';
import { sampleDigest, samplesDigest } from '../../../shared/lineage/batch-digest.ts';
import type { Audited, Folds, Tell } from './audited.ts';

/** Reasons to reject a batch before there is anything that a gate could look at. */
const leavesNoCandidate: ReadonlySet<string> = new Set(['not-finite', 'nothing-learned']);

type Batch = { readonly data: BatchSubmitted['data']; trained: PolicyTrained['data'] | undefined };

/**
 * A batch lists where its samples stand; a version is what a batch was trained to, and what is promoted is
 * what was trained. Feed it `training`.
 */
export function createBatchCheck(tell: Tell, folds: Folds) {
  /** by sample: the first place of its `sample.ready` that submit could read */
  const readyAt = new Map<string, Position>();
  const counted = new Set<string>();
  const digestOfSample = new Map<string, string>();
  const batches = new Map<string, Batch>();
  const latest = new Map<string, number>();
  /** by adapter, epoch: how many samples each rewarded sample said would follow */
  const following = new Map<string, number[]>();

  const noteFollowing = (adapter: string, epoch: string, left: number): void => {
    const name = `${adapter} ${epoch}`;
    const others = following.get(name);
    if (others === undefined) following.set(name, [left]);
    else others.push(left);
  };

  const onBatch = ({ data }: BatchSubmitted): void => {
    const { batchId, adapter, n, samples, seed } = data;
    if (batches.has(batchId)) return;
    batches.set(batchId, { data, trained: undefined });
    const before = latest.get(adapter) ?? 0;
    if (n !== before + 1) tell(`${batchId} follows batch ${before} of ${adapter}`, 'training');
    latest.set(adapter, n);
    if (seed !== seedOf(adapter, n)) tell(`${batchId} has the seed ${seed}, and not ${seedOf(adapter, n)}`);
    for (const { sampleId, at } of samples) {
      const ready = readyAt.get(sampleId);
      if (ready === undefined) continue; // said where samples are counted
      if (ready.partition !== at.partition || ready.offset !== at.offset)
        tell(
          `${batchId} reads ${sampleId} at ${at.partition}@${at.offset}, and it stands at ${ready.partition}@${ready.offset}`,
        );
    }
  };

  const onTrained = ({ data, dataschema }: PolicyTrained): void => {
    const { batchId, adapter, version, parent, checkpoint, digest } = data;
    const batch = batches.get(batchId);
    if (batch === undefined) {
      tell(`${batchId} was trained, and stands nowhere`, 'training');
      return;
    }
    const wrong = (what: string, missingFrom?: Topic) => tell(`${batchId} was trained ${what}`, missingFrom);
    const { data: submitted, trained } = batch;
    if (version !== submitted.n) wrong(`to v${version}, and not to v${submitted.n}`);
    if (parent !== submitted.parent) wrong(`from v${parent}, and not from v${submitted.parent}`);
    if (adapter !== submitted.adapter) wrong(`for ${adapter}, and not for ${submitted.adapter}`);
    const digests = submitted.samples.map(({ sampleId }) => digestOfSample.get(sampleId) ?? 'absent');
    // version 1 of the fact does not carry the digest
    if (!dataschema.endsWith(':1') && data.samplesDigest !== samplesDigest(digests))
      wrong('from other samples than stand in the log', 'training');
    if (trained === undefined) batch.trained = data;
    else if (trained.digest !== digest || trained.checkpoint !== checkpoint)
      wrong(`twice, to the digests ${trained.digest} and ${digest}`);
  };

  const onPromoted = ({ data }: PolicyPromoted): void => {
    const { batchId, from, to, checkpoint, digest } = data;
    const batch = batches.get(batchId);
    if (batch === undefined) return; // said where outcomes are counted
    const wrong = (what: string) => tell(`v${to} was promoted by ${batchId}, ${what}`);
    const { trained } = batch;
    if (trained === undefined) {
      tell(`${batchId} was promoted, and never trained`, 'training');
      return;
    }
    if (digest !== trained.digest) wrong(`with the digest ${digest}, and ${trained.digest} was trained`);
    if (checkpoint !== trained.checkpoint)
      wrong(`with the checkpoint ${checkpoint}, and ${trained.checkpoint} was trained`);
    if (from !== trained.parent || to !== trained.version)
      wrong(`from v${from}, and v${trained.version} was trained from v${trained.parent}`);
  };

  const on = (record: Audited): void => {
    const { event, at } = record;
    switch (event.type) {
      case 'sample.ready': {
        const { sampleId, adapter, session, epoch, following: left } = event.data;
        if (!readyAt.has(sampleId) && folds('submit', record)) readyAt.set(sampleId, at);
        if (counted.has(sampleId)) break;
        counted.add(sampleId);
        digestOfSample.set(sampleId, sampleDigest(event.data));
        if (left !== undefined) noteFollowing(adapter, `${session}@${epoch}`, left);
        break;
      }
      case 'sample.dropped':
        if (event.data.coming !== undefined)
          noteFollowing(event.data.adapter, event.data.coming.session, event.data.coming.following);
        break;
      case 'batch.submitted':
        onBatch(event);
        break;
      case 'policy.trained':
        onTrained(event);
        break;
      case 'policy.promoted':
        onPromoted(event);
        break;
      case 'policy.rejected':
        if (
          !leavesNoCandidate.has(event.data.reason) &&
          batches.get(event.data.batchId)?.trained === undefined
        )
          tell(`${event.data.batchId} was rejected by its gate, and never trained`, 'training');
        break;
    }
  };

  /** The last ones of a session may stand behind the end of what was read. */
  const finish = (): void => {
    for (const [name, left] of following)
      if (left.some((count, index) => count !== left[0]! - index))
        tell(`the rewarded samples of ${name} say that [${left}] follow`, 'training');
  };
  return { on, finish };
}

/** 31 bits of a hash of adapter and number. */
export const seedOf = (adapter: string, n: number): number =>
  createHash('sha256').update(`${adapter}\n${n}`).digest().readUInt32BE(0) >>> 1;
