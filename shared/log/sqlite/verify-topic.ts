import type { Topic } from '../../events/define-event.ts';
import type { ChainHead, VerifiedChain } from '../chain.ts';
import { beginAt, notedWitnesses, openVerifier, otherChain, untoldTrim } from '../verify-chain.ts';
import type { StoredLink } from './protocol.ts';
import type { Store } from './store.ts';

/**
 * Recomputes the chain of each partition of a topic from its first record and compares each link. Offsets are
 * dense: a missing record is a break too. Records of a file of an earlier version, before the chain, are not
 * covered.
 */
export async function verifyTopic(
  store: Store,
  topic: Topic,
  noted: readonly ChainHead[],
  trims: readonly ChainHead[],
): Promise<readonly VerifiedChain[]> {
  const verified: VerifiedChain[] = [];
  for (let partition = 0; partition < store.partitions; partition += 1)
    verified.push(await verifyPartition(store, { topic, partition }, { noted, trims }));
  return verified;
}

type Place = { readonly topic: Topic; readonly partition: number };

async function verifyPartition(
  store: Store,
  { topic, partition }: Place,
  { noted, trims }: { readonly noted: readonly ChainHead[]; readonly trims: readonly ChainHead[] },
): Promise<VerifiedChain> {
  const start = (await store.call('starts', { topic }))[partition]!;
  const { from, to, link } = (await store.call('chains', { topic }))[partition]!;
  const { witnesses, other } = notedWitnesses(noted, { topic, partition, from });
  const begin = beginAt({ topic, partition, from }, start, trims);
  const verifier = openVerifier({ topic, partition, from }, witnesses, begin);
  if (begin === undefined) verifier.breaks(start, untoldTrim(from, start).why);
  for (const one of other) verifier.breaks(one.to, otherChain(one, from).why);
  let together: StoredLink[] = [];
  let next = Math.max(from, start);
  while (next < to) {
    const page = await store.call('fetchStored', { topic, partition, from: next, maxRecords: PAGE });
    for (const record of page) {
      if (record.offset >= to) break; // appended after the start
      if (record.offset > next) verifier.breaks(record.offset, missing(next, record.offset));
      next = record.offset + 1;
      together.push(record);
      if (record.link === null) continue;
      verifier.add(together);
      verifier.claims(record.link);
      together = [];
    }
    if (page.length === 0 || page.at(-1)!.offset >= to) break;
  }
  if (next < to) verifier.breaks(to, missing(next, to));
  verifier.add(together);
  verifier.claims(link);
  return verifier.end(to);
}

const PAGE = 500;
const missing = (from: number, to: number): string =>
  to - from === 1 ? `record ${from} is missing` : `records ${from} to ${to - 1} are missing`;
