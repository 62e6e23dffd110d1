import { parentsOf } from '../../shared/chat/conversation-tree.ts';
import type { TurnFeedback } from '../../shared/events/turn-feedback.ts';
import { defined } from '../../shared/lang/defined.ts';
import { treeReturns } from '../../shared/policy/losses/tree-returns.ts';
import type { LaneTables, NodeRow, PendingFeedback } from './lane-tables.ts';

/** The return of one interaction: its own reward and the rewards after it. */
export type TurnReturn = {
  readonly id: string;
  /** returns; `advantage` is absent if the session has none */
  readonly earned: { readonly reward: number; readonly advantage?: number; readonly step?: number };
  /** what the votes on it are compared with, if the session's steps are voted on */
  readonly process?: TurnFeedback['data']['process'];
  /** undefined: no reward was set on this interaction itself */
  readonly reward: PendingFeedback | undefined;
  readonly parent: string | null;
  readonly discount: number;
};

export type SessionReturns = {
  /** in order of arrival */
  readonly kept: readonly TurnReturn[];
  /** answers that were neither continued nor rewarded, while another answer to the same request was */
  readonly superseded: ReadonlySet<string>;
};

type Node = NodeRow & { readonly id: string };

/**
 * The returns of a session along its conversation tree; undefined: it has no reward. Every main interaction is
 * a node; a side request is one only if it was rewarded.
 *
 * @param openTurns ids of turns without a next state
 */
export function sessionReturns(
  tables: LaneTables,
  session: string,
  openTurns: readonly string[],
  discount: number,
): SessionReturns | undefined {
  const isVotedOn = tables.sessions.get(session)?.process !== undefined;
  const all: readonly Node[] = [...tables.nodes(session).entries()]
    .map(([id, row]) => ({ id, ...row }))
    .sort((a, b) => a.order - b.order);
  const meant = withLastRewardMoved(all);
  const rewarded = meant.filter(({ reward }) => reward !== undefined);
  if (rewarded.length === 0) return undefined;
  const nodes = meant.filter(({ main, reward }) => main || reward !== undefined);
  const parents = parentsOf(nodes);
  const superseded = supersededAnswers(nodes, new Set(parents.values()));
  const kept = nodes.filter(({ id }) => !superseded.has(id));

  const indexOf = new Map(kept.map(({ id }, index) => [id, index]));
  const parentIds = kept.map(({ id }) => parents.get(id) ?? null);
  const parentIndices = parentIds.map((id) => (id === null ? null : indexOf.get(id)!));
  const returnsOf = (amountOf: (feedback: PendingFeedback) => number | undefined) =>
    treeReturns(
      parentIndices,
      kept.map(({ reward }) => (reward === undefined ? 0 : (amountOf(reward) ?? 0))),
      discount,
    );
  const returns = returnsOf(({ score }) => score);
  const steps = lastSteps(rewarded);
  const given =
    rewarded.some(({ reward }) => reward!.advantage !== undefined) ||
    steps?.some(({ advantage }) => advantage !== undefined);
  const stepOf = new Map(steps?.map((step) => [step.interactionId, step]));
  const advantages = given ? returnsOf(({ advantage }) => advantage) : undefined;
  return {
    superseded: new Set(openTurns.filter((id) => superseded.has(id))),
    kept: kept.map(({ id, reward }, index) => {
      const step = stepOf.get(id);
      return {
        id,
        reward,
        parent: parentIds[index]!,
        discount,
        earned: {
          reward: returns[index]!,
          ...defined({
            advantage: advantages === undefined ? undefined : advantages[index]! + (step?.advantage ?? 0),
            step: step?.advantage,
          }),
        },
        ...defined({
          process: isVotedOn ? (steps === undefined ? NOT_COMPARED : (step?.process ?? null)) : undefined,
        }),
      };
    }),
  };
}

/** The votes of a session whose client compares nothing count as they are. */
const NOT_COMPARED = { baseline: 0, scale: 1 };

/** The steps that the client sent last; undefined: it compares no steps. */
const lastSteps = (rewarded: readonly Node[]) =>
  rewarded
    .flatMap(({ reward }) => reward?.steps ?? [])
    .toSorted((a, b) => a.order - b.order)
    .at(-1)?.list;

/**
 * Moves a reward for "the last answer" from a side request to the last main answer before it, unless that has a
 * later reward. In logs of earlier programs the last answer may belong to a side request (a title, a summary)
 * that the client does not know of. In other logs this changes nothing, because serving never names a side
 * answer.
 */
function withLastRewardMoved(nodes: readonly Node[]): readonly Node[] {
  const rewards = new Map(nodes.map(({ id, reward }) => [id, reward]));
  for (const [index, { id, main, reward }] of nodes.entries()) {
    if (main || reward?.last !== true) continue;
    const meant = nodes.slice(0, index).findLast((node) => node.main && !node.aborted);
    if (meant === undefined) continue;
    rewards.set(id, undefined);
    const other = rewards.get(meant.id);
    if (other === undefined || other.order < reward.order) rewards.set(meant.id, reward);
  }
  return nodes.map(({ reward: _, ...node }) => ({ ...node, ...defined({ reward: rewards.get(node.id) }) }));
}

/** Unrewarded leaves that were cut off, or whose request has another answer that was continued or rewarded. */
function supersededAnswers(
  nodes: readonly Node[],
  continuedIds: ReadonlySet<string | null>,
): ReadonlySet<string> {
  const wanted = ({ id, reward, continued }: Node) =>
    reward !== undefined || continued || continuedIds.has(id);
  // Two agents may get the same words; their system texts distinguish them.
  const answers = Map.groupBy(nodes, ({ prompt, system = '' }) => `${prompt} ${system}`);
  return new Set(
    [...answers.values()].flatMap((siblings) =>
      siblings.filter((node) => !wanted(node) && (node.aborted || siblings.some(wanted))).map(({ id }) => id),
    ),
  );
}
