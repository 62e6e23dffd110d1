import { defined } from '../lang/defined.ts';
import type { ChatMessage } from './message.ts';
import { emptyConversation, rollingHashes } from './rolling-hash.ts';

/** Position of a request and its answer in the conversation tree, by rolling hashes. */
export type TreePlace = {
  /** number of messages of the request that count for the hash */
  readonly depth: number;
  /** rolling hash after the answer */
  readonly full: string;
  /** the same without tool calls and results, for clients that drop them; absent if equal to `full` or for a call */
  readonly spoken?: string;
  /** rolling hash after each answer in the history of the request, latest first */
  readonly extends: readonly string[];
};

export type TreeNode = TreePlace & {
  readonly id: string;
  /** order of arrival */
  readonly order: number;
  /** hash of the answer alone */
  readonly answer?: string | undefined;
  /** hash of the last answer in a history that the client cut at the beginning */
  readonly cut?: string | undefined;
};

/**
 * @param hashes rolling hash after each message, [M]
 * @param full rolling hash after the answer
 */
export function placeInTree(
  messages: readonly ChatMessage[],
  hashes: readonly string[],
  full: string,
  answer: ChatMessage,
): TreePlace {
  const spoken = spokenHash(messages, answer);
  const answers = messages.flatMap(({ role }, index) => (role === 'assistant' ? [hashes[index]!] : []));
  return {
    depth: hashes.filter((hash, index) => hash !== (hashes[index - 1] ?? emptyConversation)).length,
    full,
    ...defined({ spoken }),
    extends: [...new Set(answers.toReversed())],
  };
}

const isOfCalls = ({ role, tool_calls: calls = [] }: ChatMessage): boolean =>
  role === 'tool' || calls.length > 0;

function spokenHash(messages: readonly ChatMessage[], answer: ChatMessage): string | undefined {
  if (isOfCalls(answer)) return undefined;
  const spoken = messages.filter((message) => !isOfCalls(message));
  return spoken.length === messages.length ? undefined : rollingHashes([...spoken, answer]).at(-1);
}

/**
 * The parent of a node is the node whose request and answer its request extends by the fewest messages. Among
 * equal ones it is the latest earlier node, or the first later node if there is none (the node overtook its parent).
 * null: the node begins a tree. A cut history continues from the only node with its last answer. A parent
 * matched without tool calls must be earlier. There is no cycle: a parent is shallower, or as deep and earlier,
 * and has fewer spoken messages if calls were dropped.
 */
export function parentsOf(nodes: readonly TreeNode[]): ReadonlyMap<string, string | null> {
  const inOrder = nodes.toSorted((a, b) => a.order - b.order);
  const byFull = Map.groupBy(inOrder, ({ full }) => full);
  const bySpoken = Map.groupBy(inOrder, ({ spoken }) => spoken);
  const parents = new Map<string, string | null>();
  for (const node of inOrder) parents.set(node.id, extended(node, byFull, bySpoken));
  const byAnswer = Map.groupBy(inOrder, ({ answer }) => answer);
  for (const { id, cut, order } of inOrder) {
    if (cut === undefined || parents.get(id) !== null) continue;
    const alike = (byAnswer.get(cut) ?? []).filter((other) => other.order < order);
    if (alike.length === 1 && !descends(alike[0]!.id, id, parents)) parents.set(id, alike[0]!.id);
  }
  return parents;
}

function extended(
  node: TreeNode,
  byFull: ReadonlyMap<string, readonly TreeNode[]>,
  bySpoken: ReadonlyMap<string | undefined, readonly TreeNode[]>,
): string | null {
  for (const hash of node.extends) {
    const candidates = (byFull.get(hash) ?? []).filter((other) => mayPrecede(other, node));
    const isBefore = ({ order }: TreeNode) => order < node.order;
    const parent = candidates.findLast(isBefore) ?? candidates[0] ?? bySpoken.get(hash)?.findLast(isBefore);
    if (parent !== undefined) return parent.id;
  }
  return null;
}

const mayPrecede = (parent: TreeNode, child: TreeNode): boolean =>
  parent.depth < child.depth || (parent.depth === child.depth && parent.order < child.order);

function descends(from: string, ancestor: string, parents: ReadonlyMap<string, string | null>): boolean {
  for (let at: string | null = from; at !== null; at = parents.get(at) ?? null)
    if (at === ancestor) return true;
  return false;
}
