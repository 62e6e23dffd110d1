import { defined } from '../../shared/lang/defined.ts';
import type { Conversation } from './conversation.ts';
import type { LaneTables, NodeRow, PendingFeedback } from './lane-tables.ts';

type NewNode = Pick<NodeRow, 'order' | 'main' | 'aborted' | 'answer' | 'system'> & {
  readonly conversation: Conversation;
  /** the last one counts */
  readonly feedback: readonly PendingFeedback[];
};

/** Stores the position of an interaction in the conversation tree of a session that is settled by reward. */
export function addNode(
  tables: LaneTables,
  session: string,
  id: string,
  { conversation, order, main, aborted, answer, system, feedback }: NewNode,
): void {
  const { place, prompt, answerAfterCut } = conversation;
  const nodeAt = tables.nodeAt(session);
  const reward = feedback.reduce<PendingFeedback | undefined>(replaced, undefined);
  // Everything before a known main answer is in that answer's own history.
  const known = place.extends.findIndex((hash) => nodeAt.get(hash) !== undefined);
  tables.nodes(session).set(id, {
    ...place,
    extends: known === -1 ? place.extends : place.extends.slice(0, known + 1),
    order,
    prompt,
    main,
    aborted,
    continued: false,
    ...defined({ answer, system, cut: answerAfterCut, reward }),
  });
  if (main) nodeAt.set(place.full, true);
}

/** The later reward. A list of steps stays until there is another. */
const replaced = (before: PendingFeedback | undefined, reward: PendingFeedback): PendingFeedback => ({
  ...reward,
  ...defined({ steps: reward.steps ?? before?.steps }),
});

/** Sets a reward; the last one before the session ends counts. @returns false if the interaction has no node */
export function setReward(
  tables: LaneTables,
  session: string,
  interactionId: string,
  reward: PendingFeedback,
): boolean {
  const nodes = tables.nodes(session);
  const node = nodes.get(interactionId);
  if (node !== undefined) nodes.set(interactionId, { ...node, reward: replaced(node.reward, reward) });
  return node !== undefined;
}

export function markContinued(tables: LaneTables, session: string, id: string): void {
  const nodes = tables.nodes(session);
  const node = nodes.get(id);
  if (node !== undefined) nodes.set(id, { ...node, continued: true });
}

/** Deletes a session's nodes at its end; later events do not change it. */
export function forgetNodes(tables: LaneTables, session: string): void {
  for (const table of [tables.nodes(session), tables.nodeAt(session)])
    for (const [key] of table.entries()) table.delete(key);
}
