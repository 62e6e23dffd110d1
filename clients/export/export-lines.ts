import type { TokenRecord } from '../../shared/events/token-record.ts';
import type { EndedSession } from './session-index.ts';
import type { ExportNode } from './session-nodes.ts';

export const exportStyles = ['individual', 'concat'] as const;
export type ExportStyle = (typeof exportStyles)[number];

/** A line of the export: a token sequence of length L from I interactions, with the sampled positions. */
export type ExportLine = {
  readonly session_id: string;
  readonly task: string | null;
  readonly style: ExportStyle;
  /** [I] */
  readonly interaction_ids: readonly string[];
  readonly turn: 'main' | 'side';
  readonly api: string;
  readonly model: string;
  readonly adapter: string;
  /** [L] */
  readonly input_ids: readonly number[];
  /** 1 for tokens that the policy sampled, otherwise 0, [L] */
  readonly loss_mask: readonly number[];
  /** logprobs at sampling, at the temperature in `temperatures`; 0 if not sampled, [L] */
  readonly logprobs: readonly number[];
  /** policy version that sampled the token; -1 if not sampled, [L] */
  readonly versions: readonly number[];
  /** return of the first interaction along this line; null: its session has no reward */
  readonly reward: number | null;
  /** returns along the tree, [I] */
  readonly rewards: readonly (number | null)[];
  /** rewards as set, [I] */
  readonly own_rewards: readonly (number | null)[];
  /** relative to other attempts at the task, [I]; null: none */
  readonly advantages: readonly (number | null)[];
  /** [I] */
  readonly temperatures: readonly number[];
  /** reason if skipped, [I] */
  readonly not_trained: readonly (string | null)[];
  readonly finish_reason: string;
  /**
   * the interaction that the first request continues, if its tokens do not extend that interaction's tokens: a
   * window was cut, or the template renders history differently. null: the line starts with the conversation
   */
  readonly split: string | null;
};

type Session = Pick<EndedSession, 'session' | 'task'>;
/** A node with its token record. */
type Sampled = ExportNode & { readonly tokens: TokenRecord };

const ended: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter']);

/** Whether an answer is complete, has a token record, and was not deleted or withdrawn. */
const isComplete = (node: ExportNode): node is Sampled & ExportNode =>
  ended.has(node.data.finishReason) &&
  !['deleted', 'withdrawn'].includes(node.turn.reason ?? '') &&
  node.data.tokens !== null &&
  node.data.tokens.responseIds.length > 0 &&
  node.data.tokens.responseIds.length === node.data.tokens.logProbs.length;

export type Exported = {
  readonly lines: readonly ExportLine[];
  /** interactions that cannot be exported */
  readonly leftOut: number;
  /** interactions left out because their prompt or answer contains a secret */
  readonly withSecrets: number;
};

/**
 * The lines of a session: `individual`, one per interaction; `concat`, one per path of the conversation tree
 * from root to leaf, without repeating the tokens of earlier interactions.
 *
 * @param discount the discount of the returns
 */
export function exportLines(
  session: Session,
  nodes: readonly ExportNode[],
  style: ExportStyle,
  discount: number,
): Exported {
  const complete = nodes.filter(isComplete).map((node): Sampled => ({ ...node, tokens: node.data.tokens! }));
  const exportable = complete.filter(({ holdsSecret }) => !holdsSecret);
  const lines =
    style === 'individual'
      ? exportable.map((node) => lineOf(session, [node], { style, reward: node.earned, split: null }))
      : concatLines(session, nodes, exportable, discount);
  return {
    lines,
    leftOut: nodes.length - complete.length,
    withSecrets: complete.length - exportable.length,
  };
}

function concatLines(
  session: Session,
  nodes: readonly ExportNode[],
  exportable: readonly Sampled[],
  discount: number,
): readonly ExportLine[] {
  const byId = new Map(nodes.map((node) => [node.turn.id, node]));
  const sampledById = new Map(exportable.map((node) => [node.turn.id, node]));
  /** The nearest ancestor with tokens. */
  const ancestorOf = (node: ExportNode): Sampled | undefined => {
    for (let at = node.parent; at !== null; at = byId.get(at)?.parent ?? null) {
      const ancestor = sampledById.get(at);
      if (ancestor !== undefined) return ancestor;
    }
    return undefined;
  };
  const inTree = exportable.filter(({ isSide, earned }) => !isSide || earned !== null);
  const parents = new Map(inTree.map((node) => [node, ancestorOf(node)]));
  const extended = new Set(
    [...parents].flatMap(([node, parent]) =>
      parent !== undefined && extendsTokens(node, parent) ? [parent] : [],
    ),
  );
  return inTree
    .filter((node) => !extended.has(node))
    .map((leaf) => {
      const path = [leaf];
      for (let first = leaf; ; first = path[0]!) {
        const parent = parents.get(first);
        if (parent === undefined || !extendsTokens(first, parent)) {
          const reward = alongPath(byId, first, leaf, discount);
          return lineOf(session, path, { style: 'concat', reward, split: parent?.turn.id ?? null });
        }
        path.unshift(parent);
      }
    });
}

/** Whether a prompt begins with all tokens of another prompt and its answer. */
function extendsTokens({ tokens: { promptIds } }: Sampled, { tokens: parent }: Sampled): boolean {
  const { promptIds: prompt, responseIds: answer } = parent;
  return (
    promptIds.length >= prompt.length + answer.length &&
    prompt.every((id, index) => promptIds[index] === id) &&
    answer.every((id, index) => promptIds[prompt.length + index] === id)
  );
}

/** The return of `first` as if the path to `last` were its only branch; `last` keeps its own return. */
function alongPath(
  byId: ReadonlyMap<string, ExportNode>,
  first: ExportNode,
  last: ExportNode,
  discount: number,
): number | null {
  let [at, reward] = [last, last.earned];
  while (at.turn.id !== first.turn.id && at.parent !== null && reward !== null) {
    at = byId.get(at.parent)!;
    reward = (at.own ?? 0) + discount * reward;
  }
  return reward;
}

/** A line for a path of interactions, each extending the tokens of the previous one. */
function lineOf(
  { session, task }: Session,
  path: readonly Sampled[],
  { style, reward, split }: Pick<ExportLine, 'style' | 'reward' | 'split'>,
): ExportLine {
  const last = path.at(-1)!;
  const input_ids = [...last.tokens.promptIds, ...last.tokens.responseIds];
  const loss_mask = input_ids.map(() => 0);
  const logprobs = input_ids.map(() => 0);
  const versions = input_ids.map(() => -1);
  for (const { tokens, data } of path)
    for (const [index, logProb] of tokens.logProbs.entries()) {
      const at = tokens.promptIds.length + index;
      loss_mask[at] = 1;
      logprobs[at] = logProb;
      versions[at] = data.version;
    }
  return {
    session_id: session,
    task,
    style,
    interaction_ids: path.map(({ turn }) => turn.id),
    turn: last.isSide ? 'side' : 'main',
    api: last.data.api,
    model: last.data.model,
    adapter: last.data.adapter,
    input_ids,
    loss_mask,
    logprobs,
    versions,
    reward,
    rewards: path.map(({ earned }) => earned),
    own_rewards: path.map(({ own }) => own),
    advantages: path.map(({ advantage }) => advantage),
    temperatures: path.map(({ tokens }) => tokens.effectiveTemperature),
    not_trained: path.map(({ turn }) => turn.reason),
    finish_reason: last.data.finishReason,
    split,
  };
}
