import { parentsOf, placeInTree, type TreeNode } from '../../../shared/chat/conversation-tree.ts';
import { observedIn } from '../../../shared/chat/observed.ts';
import { emptyConversation, nextHash, rollingHashes } from '../../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../../shared/events/interaction-completed.ts';

/** An answer of an open session that a reward can train, without its text. */
export type StepNode = TreeNode & {
  /** hash of each message that it answers */
  readonly observed: readonly string[];
};

/** A step of a session: an answer, and its place. */
export type SessionStep = Pick<StepNode, 'id' | 'observed'> & {
  /** id of the step that it continues; null: it begins a conversation */
  readonly continues: string | null;
  /** another step continues it, so its next state is known */
  readonly isContinued: boolean;
};

/** @param earlier steps of its session */
export function stepNode({ id, data }: InteractionCompleted, earlier: readonly StepNode[]): StepNode {
  const { messages, answer } = data;
  const hashes = rollingHashes(messages);
  const full = nextHash(hashes.at(-1) ?? emptyConversation, answer);
  const place = placeInTree(messages, hashes, full, answer);
  const fulls = new Set(earlier.map((step) => step.full));
  // Everything before a known answer is in that answer's own history.
  const known = place.extends.findIndex((hash) => fulls.has(hash));
  return {
    id,
    order: earlier.length,
    observed: observedIn(messages),
    ...place,
    extends: known === -1 ? place.extends : place.extends.slice(0, known + 1),
  };
}

/** @returns in order of arrival */
export function sessionSteps(nodes: readonly StepNode[]): readonly SessionStep[] {
  const parents = parentsOf(nodes);
  const continued = new Set(parents.values());
  return nodes.map(({ id, observed }) => ({
    id,
    observed,
    continues: parents.get(id) ?? null,
    isContinued: continued.has(id),
  }));
}
