import type { Topic } from '../../events/define-event.ts';
import type { ChainHead, VerifiedChain } from '../chain.ts';
import { beginAt, openVerifier, otherChain, untoldTrim, type Witness } from '../verify-chain.ts';
import { readChangelog } from './changelog.ts';
import { groupNames } from './group-names.ts';
import type { KafkaStore } from './kafka-store.ts';
import { chainedRecord } from './messages.ts';

/** A link of a partition's chain, from a group or from a noted head. */
type Known = Witness & { readonly partition: number; readonly from: number };

/**
 * Recomputes the chain of each partition of a topic from its first record. Compares it with the links that the
 * groups committed with their positions, and with the noted heads.
 */
export async function verifyTopic(
  store: KafkaStore,
  topic: Topic,
  noted: readonly ChainHead[],
  trims: readonly ChainHead[],
): Promise<readonly VerifiedChain[]> {
  const known = [
    ...(await knownByGroups(store, topic)),
    ...noted
      .filter((head) => head.topic === topic)
      .map(({ partition, from, to, head }) => ({
        partition,
        from,
        at: to,
        link: head,
        who: 'the head that was noted',
      })),
  ];
  const name = store.connection.topicName(topic);
  const [starts, ends] = [await store.query.offsets(name, 'start'), await store.query.offsets(name, 'end')];
  const verified: VerifiedChain[] = [];
  for (const [partition, start] of starts.entries()) {
    const knownHere = known.filter((link) => link.partition === partition);
    verified.push(
      await verifyPartition(
        store,
        { topic, partition, start, end: ends[partition]! },
        { known: knownHere, trims },
      ),
    );
  }
  return verified;
}

type Span = {
  readonly topic: Topic;
  readonly partition: number;
  readonly start: number;
  readonly end: number;
};

/** Verifies all chains of a partition in one pass: each group's chain begins where it started or was set back. */
async function verifyPartition(
  store: KafkaStore,
  { topic, partition, start, end }: Span,
  { known, trims }: { readonly known: readonly Known[]; readonly trims: readonly ChainHead[] },
): Promise<VerifiedChain> {
  const trim = trims.find((one) => one.topic === topic && one.partition === partition && one.to === start);
  const origin = trim?.from ?? start;
  const begins = new Set([origin, ...known.map(({ from }) => from).filter((from) => from >= start)]);
  const chains = [...begins].map((from) => ({
    from,
    verifier: openVerifier(
      { topic, partition, from },
      known.filter((link) => link.from === from),
      beginAt({ topic, partition, from }, start, trims),
    ),
  }));
  const name = store.connection.topicName(topic);
  let at = start;
  while (at < end) {
    const [fetched] = await store.query.fetch(name, new Map([[partition, at]]), { waitMs: 100 });
    for (const raw of fetched?.records ?? []) {
      const record = chainedRecord(raw);
      if (record.offset >= end) break;
      for (const { from, verifier } of chains) if (record.offset >= from) verifier.add([record]);
    }
    if (fetched === undefined || fetched.next === at) break; // a transaction is open here
    at = fetched.next;
  }
  const [whole, ...others] = chains.map(({ verifier }) => verifier.end(Math.min(at, end)));
  // A chain that begins in removed records goes on from a recorded trim; without one, it cannot be recomputed.
  const trimmed = known.find(
    ({ from, who }) => from < start && from !== origin && who === 'the head that was noted',
  );
  const broken =
    (trim === undefined && start > 0 ? untoldTrim(0, start) : undefined) ??
    [whole!, ...others].find((chain) => chain.broken !== undefined)?.broken ??
    (trimmed &&
      otherChain({ topic, partition, from: trimmed.from, to: trimmed.at, head: trimmed.link }, start));
  return broken === undefined ? whole! : { ...whole!, broken };
}

/** The links of all groups that read the topic. */
async function knownByGroups(store: KafkaStore, topic: Topic): Promise<readonly Known[]> {
  const { connection } = store;
  const known: Known[] = [];
  for (const group of await groupNames(store)) {
    const name = connection.topicName(topic);
    const committed = (await store.offsets.committed(connection.groupId(group), [name])).get(name) ?? [];
    if (committed.every(({ position }) => position === null)) continue;
    for (let partition = 0; partition < store.partitions; partition += 1) {
      const { read, position } = await readChangelog(store, connection.rowsTopic(group), partition);
      if (read === null || position === null) continue;
      known.push({ partition, from: read.from, at: position, link: read.link, who: `what ${group} read` });
    }
  }
  return known;
}
