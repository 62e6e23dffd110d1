import type { WordsErased } from '../events/words-erased.ts';
import type { ChainHead } from './chain.ts';
import type { EventLog } from './event-log.ts';
import { readTopic } from './read-topic.ts';

/** What `clawloop forget` erased from this log, oldest first. */
export async function readErasures(log: Pick<EventLog, 'follow' | 'ends'>): Promise<readonly WordsErased[]> {
  const found = new Map<string, WordsErased>();
  const onRecord = ({ event }: { readonly event: { readonly type: string } }): void => {
    if (event.type !== 'words.erased') return;
    const erasure = event as WordsErased;
    found.set(erasure.id, erasure);
  };
  await readTopic(log, 'dead-letters', onRecord, new Set(['words.erased']));
  return [...found.values()].sort((a, b) => a.time.localeCompare(b.time));
}

type NotedSince = {
  /** heads to compare with the chains as they are */
  readonly comparable: readonly ChainHead[];
  /** one sentence per head that nothing can be compared with any more */
  readonly outdated: readonly string[];
};

/**
 * Heads that were noted before an erasure belong to a chain that no longer exists. The head of the moment of the
 * erasure is in the log, with the head that replaced it; an earlier one cannot be computed without the words.
 */
export function notedSince(noted: readonly ChainHead[], erasures: readonly WordsErased[]): NotedSince {
  const comparable: ChainHead[] = [];
  const outdated: string[] = [];
  const chains = erasures.flatMap(({ time, data }) => data.chains.map((chain) => ({ ...chain, time })));
  for (const head of noted) {
    const { topic, partition, to } = head;
    const replaced = chains.filter(
      (chain) => chain.topic === topic && chain.partition === partition && chain.first < to && to <= chain.to,
    );
    const last = replaced.at(-1);
    const isKnown = replaced.some(
      (chain) =>
        chain.to === to && (chain.before === head.head || (chain.after === head.head && chain !== last)),
    );
    if (isKnown) continue;
    if (last === undefined || last.to === to) comparable.push(head);
    else
      outdated.push(
        `the head of ${topic}/${partition} up to ${to} was noted before the erasure of ${last.time}, which replaced it: ` +
          'save the heads again',
      );
  }
  return { comparable, outdated };
}
