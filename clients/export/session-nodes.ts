import { parentsOf, placeInTree } from '../../shared/chat/conversation-tree.ts';
import { messageTexts } from '../../shared/chat/message.ts';
import { emptyConversation, nextHash, rollingHashes } from '../../shared/chat/rolling-hash.ts';
import type { InteractionCompleted } from '../../shared/events/interaction-completed.ts';
import { treeReturns } from '../../shared/policy/losses/tree-returns.ts';
import { findSecrets } from '../../shared/secrets/find-secrets.ts';
import type { EndedSession, IndexedTurn } from './session-index.ts';

/** An interaction of an ended session, with its place in the tree and its return. */
export type ExportNode = {
  readonly turn: IndexedTurn;
  readonly data: InteractionCompleted['data'];
  readonly parent: string | null;
  /** its own reward; null: none */
  readonly own: number | null;
  /** return; null: its session has no reward, or it is not in the tree */
  readonly earned: number | null;
  /** relative to other attempts at the task; null: none in its session */
  readonly advantage: number | null;
  readonly isSide: boolean;
  /** whether prompt or answer contains a secret */
  readonly holdsSecret: boolean;
};

/**
 * Parents and returns come from the events of a rewarded session. Without rewards the tree is rebuilt; with a
 * discount other than the collector's the returns are recomputed.
 *
 * @param bodies of the session's turns, in the same order
 */
export function sessionNodes(
  { turns }: Pick<EndedSession, 'turns'>,
  bodies: readonly InteractionCompleted['data'][],
  discount: number | undefined,
): readonly ExportNode[] {
  const parents = turns.some(({ earned }) => earned !== undefined)
    ? new Map(turns.map(({ id, earned }) => [id, earned?.return?.parent ?? null]))
    : treeOf(turns, bodies);
  const returns = returnsOf(turns, discount);
  const holdsSecret = secretsByText();
  return turns.map((turn, index) => ({
    turn,
    data: bodies[index]!,
    parent: parents.get(turn.id) ?? null,
    own: turn.earned?.return?.own ?? null,
    earned: returns.get(turn.id)?.earned ?? null,
    advantage: returns.get(turn.id)?.advantage ?? null,
    isSide: turn.reason === 'side',
    holdsSecret: turn.reason === 'secret' || textsOf(bodies[index]!).some(holdsSecret),
  }));
}

/** All texts that the tokens of an interaction may come from. */
const textsOf = ({ messages, tools = [], answer }: InteractionCompleted['data']): readonly string[] => [
  ...[...messages, answer].flatMap(messageTexts),
  ...tools.map((tool) => JSON.stringify(tool)),
];

/** Checks each text once, because the requests of a session repeat earlier messages. */
function secretsByText(): (text: string) => boolean {
  const known = new Map<string, boolean>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const holds = findSecrets(text).length > 0;
    known.set(text, holds);
    return holds;
  };
}

function treeOf(turns: readonly IndexedTurn[], bodies: readonly InteractionCompleted['data'][]) {
  const nodes = turns.flatMap(({ id, reason }, order) => {
    if (reason === 'side') return [];
    const { messages, answer } = bodies[order]!;
    const hashes = rollingHashes(messages);
    const full = nextHash(hashes.at(-1) ?? emptyConversation, answer);
    return [{ id, order, ...placeInTree(messages, hashes, full, answer) }];
  });
  return parentsOf(nodes);
}

type Earned = { readonly earned: number; readonly advantage: number | null };

function returnsOf(turns: readonly IndexedTurn[], discount: number | undefined): ReadonlyMap<string, Earned> {
  const nodes = turns.flatMap(({ id, earned }) =>
    earned?.return === undefined ? [] : [{ ...earned, ...earned.return, id }],
  );
  if (discount === undefined)
    return new Map(nodes.map(({ id, score, advantage = null }) => [id, { earned: score, advantage }]));
  const indexOf = new Map(nodes.map(({ id }, index) => [id, index]));
  const parents = nodes.map(({ parent }) => (parent === null ? null : (indexOf.get(parent) ?? null)));
  const returns = treeReturns(
    parents,
    nodes.map(({ own }) => own ?? 0),
    discount,
  );
  return new Map(nodes.map(({ id }, index) => [id, { earned: returns[index]!, advantage: null }]));
}
