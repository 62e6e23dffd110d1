import type { Conversation } from './conversation.ts';
import type { HeldFeedback, LaneTables, NodeRow } from './lane-tables.ts';

type NewNode = Pick<NodeRow, 'order' | 'main' | 'aborted' | 'answer' | 'system'> & {
  /** the last of it counts */
  readonly feedback: readonly HeldFeedback[];
};

/** Remembers where an interaction of a session that is settled by reward stands in the conversation tree. */
export function addNode(
  mine: LaneTables,
  session: string,
  id: string,
  { place, prompt, answerAfterCut }: Conversation,
  { order, main, aborted, answer, system, feedback }: NewNode,
): void {
  const nodeAt = mine.nodeAt(session);
  const reward = feedback.at(-1);
  // what lies beyond a known main answer is that answer's history
  const known = place.extends.findIndex((hash) => nodeAt.get(hash) !== undefined);
  mine.nodes(session).set(id, {
    ...place,
    extends: known === -1 ? place.extends : place.extends.slice(0, known + 1),
    ...{ order, prompt, main, aborted, continued: false },
    ...(answer === undefined ? {} : { answer }),
    ...(system === undefined ? {} : { system }),
    ...(answerAfterCut === undefined ? {} : { cut: answerAfterCut }),
    ...(reward === undefined ? {} : { reward }),
  });
  if (main) nodeAt.set(place.full, true);
}

/** The last reward before the end of the session counts. False: the interaction waits for none. */
export function setReward(
  mine: LaneTables,
  session: string,
  interactionId: string,
  reward: HeldFeedback,
): boolean {
  const nodes = mine.nodes(session);
  const node = nodes.get(interactionId);
  if (node !== undefined) nodes.set(interactionId, { ...node, reward });
  return node !== undefined;
}

export function markContinued(mine: LaneTables, session: string, id: string): void {
  const nodes = mine.nodes(session);
  const node = nodes.get(id);
  if (node !== undefined) nodes.set(id, { ...node, continued: true });
}

/** What comes after the end of a session changes nothing in it. */
export function forgetNodes(mine: LaneTables, session: string): void {
  for (const table of [mine.nodes(session), mine.nodeAt(session)])
    for (const [key] of table.entries()) table.delete(key);
}
