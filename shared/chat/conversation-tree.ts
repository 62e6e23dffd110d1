import type { ChatMessage } from './message.ts';
import { emptyConversation, rollingHashes } from './rolling-hash.ts';

/** Where one request and its answer stand among others, by the rolling hashes of their messages. */
export type TreePlace = {
  /** messages of the request that tell conversations apart */
  readonly depth: number;
  /** rolling hash after the answer */
  readonly full: string;
  /**
   * the same for a client that keeps what was said and drops calls and their results; absent where that is
   * `full`, or the answer is a call itself
   */
  readonly spoken?: string;
  /** rolling hash after each answer in the request's history, the latest first */
  readonly extends: readonly string[];
};

export type TreeNode = TreePlace & {
  readonly id: string;
  /** of arrival */
  readonly order: number;
  /** hash of its answer alone */
  readonly answer?: string | undefined;
  /** the same of the last answer in a history whose beginning the client cut off */
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
    ...(spoken === undefined ? {} : { spoken }),
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
 * The parent of a node is the one whose request and answer its request extends by the fewest messages; of
 * equal ones the latest that came before it, else (it overtook its parent) the first that came after it.
 * null: it begins a tree. A history that was cut goes on from the only node with the answer that it holds
 * last. What is extended may have dropped its calls; then it came before. There is no cycle: what is extended
 * is shallower, or as deep and earlier, and has fewer spoken messages where calls were dropped.
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
    const able = (byFull.get(hash) ?? []).filter((other) => mayPrecede(other, node));
    const isBefore = ({ order }: TreeNode) => order < node.order;
    const parent = able.findLast(isBefore) ?? able[0] ?? bySpoken.get(hash)?.findLast(isBefore);
    if (parent !== undefined) return parent.id;
  }
  return null;
}

const mayPrecede = (one: TreeNode, other: TreeNode): boolean =>
  one.depth < other.depth || (one.depth === other.depth && one.order < other.order);

function descends(from: string, ancestor: string, parents: ReadonlyMap<string, string | null>): boolean {
  for (let at: string | null = from; at !== null; at = parents.get(at) ?? null)
    if (at === ancestor) return true;
  return false;
}
