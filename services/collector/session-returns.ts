import { parentsOf } from '../../shared/chat/conversation-tree.ts';
import { treeReturns } from '../../shared/policy/losses/tree-returns.ts';
import type { HeldFeedback, LaneTables, NodeRow } from './lane-tables.ts';

/** What one interaction earned: by its own reward, and by what came of it. */
export type TurnReturn = {
  readonly id: string;
  /** returns; advantage: absent where none was given in the whole session */
  readonly earned: { readonly reward: number; readonly advantage?: number };
  /** undefined: none was set on this very interaction */
  readonly reward: HeldFeedback | undefined;
  readonly parent: string | null;
  readonly discount: number;
};

export type SessionReturns = {
  /** in order of arrival */
  readonly kept: readonly TurnReturn[];
  /** answers that nobody went on from or rewarded, beside one to the same request that somebody did */
  readonly superseded: ReadonlySet<string>;
};

type Node = NodeRow & { readonly id: string };

/**
 * The returns of a session along its conversation tree; undefined: it has no reward. Main interactions are
 * nodes, whatever became of them; a side request is one only if it was rewarded itself.
 *
 * @param openTurns those whose next state was never shown
 */
export function sessionReturns(
  mine: LaneTables,
  session: string,
  openTurns: readonly string[],
  discount: number,
): SessionReturns | undefined {
  const all: readonly Node[] = [...mine.nodes(session).entries()]
    .map(([id, row]) => ({ id, ...row }))
    .sort((a, b) => a.order - b.order);
  const meant = withLastMeant(all);
  const rewarded = meant.filter(({ reward }) => reward !== undefined);
  if (rewarded.length === 0) return undefined;
  const nodes = meant.filter(({ main, reward }) => main || reward !== undefined);
  const parents = parentsOf(nodes);
  const superseded = supersededOf(nodes, new Set(parents.values()));
  const kept = nodes.filter(({ id }) => !superseded.has(id));

  const indexOf = new Map(kept.map(({ id }, index) => [id, index]));
  const parentIds = kept.map(({ id }) => parents.get(id) ?? null);
  const parentIndices = parentIds.map((id) => (id === null ? null : indexOf.get(id)!));
  const along = (own: (feedback: HeldFeedback) => number | undefined) =>
    treeReturns(
      parentIndices,
      kept.map(({ reward }) => (reward === undefined ? 0 : (own(reward) ?? 0))),
      discount,
    );
  const returns = along(({ score }) => score);
  const given = rewarded.some(({ reward }) => reward!.advantage !== undefined);
  const advantages = given ? along(({ advantage }) => advantage) : undefined;
  return {
    superseded: new Set(openTurns.filter((id) => superseded.has(id))),
    kept: kept.map(({ id, reward }, index) => ({
      ...{ id, reward, parent: parentIds[index]!, discount },
      earned: {
        reward: returns[index]!,
        ...(advantages === undefined ? {} : { advantage: advantages[index]! }),
      },
    })),
  };
}

/**
 * In logs of earlier programs the last answer may be one to a side request (a title, a summary), of which the
 * client knows nothing. There the last main answer before it has the reward, if it was not given a later one.
 * Serving names no answer that its program called side, so elsewhere this moves nothing.
 */
function withLastMeant(nodes: readonly Node[]): readonly Node[] {
  const rewards = new Map(nodes.map(({ id, reward }) => [id, reward]));
  for (const [index, { id, main, reward }] of nodes.entries()) {
    if (main || reward?.last !== true) continue;
    const meant = nodes.slice(0, index).findLast((one) => one.main && !one.aborted);
    if (meant === undefined) continue;
    rewards.set(id, undefined);
    const other = rewards.get(meant.id);
    if (other === undefined || other.order < reward.order) rewards.set(meant.id, reward);
  }
  return nodes.map(({ reward: _, ...node }) => ({ ...node, ...reward(rewards.get(node.id)) }));
}
const reward = (given: HeldFeedback | undefined) => (given === undefined ? {} : { reward: given });

/**
 * Leaves without a reward: where they were cut off, or another answer to the same request was gone on from or
 * rewarded.
 */
function supersededOf(nodes: readonly Node[], goneOnFrom: ReadonlySet<string | null>): ReadonlySet<string> {
  const wanted = ({ id, reward, continued }: Node) => reward !== undefined || continued || goneOnFrom.has(id);
  // two agents may be told the same words: each has a system text of its own
  const answers = Map.groupBy(nodes, ({ prompt, system = '' }) => `${prompt} ${system}`);
  return new Set(
    [...answers.values()].flatMap((siblings) =>
      siblings.filter((one) => !wanted(one) && (one.aborted || siblings.some(wanted))).map(({ id }) => id),
    ),
  );
}
