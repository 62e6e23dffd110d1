import type { TokenRecord } from '../../../shared/events/token-record.ts';
import type { EndedSession } from './session-index.ts';
import type { ExportNode } from './session-nodes.ts';

export const exportStyles = ['individual', 'concat'] as const;
export type ExportStyle = (typeof exportStyles)[number];

/** One line: a sequence of tokens with what was sampled in it. L tokens, of I interactions. */
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
  /** 1 where the token was sampled by the policy, [L] */
  readonly loss_mask: readonly number[];
  /** of sampling, at the temperature in `temperatures`; 0 where it was not sampled, [L] */
  readonly logprobs: readonly number[];
  /** policy version that sampled it; -1 where it was not sampled, [L] */
  readonly versions: readonly number[];
  /** return of the first interaction along this line; null: its session has none */
  readonly reward: number | null;
  /** return of each, along the tree, [I] */
  readonly rewards: readonly (number | null)[];
  /** as they were set, [I] */
  readonly own_rewards: readonly (number | null)[];
  /** against other attempts at the task, [I]; null: none was given */
  readonly advantages: readonly (number | null)[];
  /** [I] */
  readonly temperatures: readonly number[];
  /** why it was skipped, [I] */
  readonly not_trained: readonly (string | null)[];
  readonly finish_reason: string;
  /**
   * the interaction whose request and answer the first request goes on from, where its tokens do not: a
   * window was cut, or the template renders history in another way. null: the line begins where its
   * conversation does
   */
  readonly split: string | null;
};

type Session = Pick<EndedSession, 'session' | 'task'>;
/** With what was recorded while it was sampled. */
type Sampled = ExportNode & { readonly tokens: TokenRecord };

const ended: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter']);

/** Answers that came to their end, whose tokens are known, and that nobody deleted or withdrew. */
const isWhole = (node: ExportNode): node is Sampled & ExportNode =>
  ended.has(node.data.finishReason) &&
  !['deleted', 'withdrawn'].includes(node.turn.reason ?? '') &&
  node.data.tokens !== null &&
  node.data.tokens.responseIds.length > 0 &&
  node.data.tokens.responseIds.length === node.data.tokens.logProbs.length;

export type Exported = {
  readonly lines: readonly ExportLine[];
  /** interactions that no line can be made of */
  readonly leftOut: number;
  /** interactions that have no line because their prompt or their answer holds a secret */
  readonly withSecrets: number;
};

/**
 * The lines of one session: `individual`, one per interaction; `concat`, one per path of the conversation
 * tree from its root to a leaf, with the tokens of what was said before once.
 *
 * @param discount that the returns were made with
 */
export function exportLines(
  session: Session,
  nodes: readonly ExportNode[],
  style: ExportStyle,
  discount: number,
): Exported {
  const complete = nodes.filter(isWhole).map((node): Sampled => ({ ...node, tokens: node.data.tokens! }));
  const whole = complete.filter(({ holdsSecret }) => !holdsSecret);
  const lines =
    style === 'individual'
      ? whole.map((node) => lineOf(session, 'individual', [node], node.earned, null))
      : concatLines(session, nodes, whole, discount);
  return {
    lines,
    leftOut: nodes.length - complete.length,
    withSecrets: complete.length - whole.length,
  };
}

function concatLines(
  session: Session,
  nodes: readonly ExportNode[],
  whole: readonly Sampled[],
  discount: number,
): readonly ExportLine[] {
  const byId = new Map(nodes.map((node) => [node.turn.id, node]));
  const wholeById = new Map(whole.map((node) => [node.turn.id, node]));
  /** The nearest one above of which there are tokens. */
  const above = (node: ExportNode): Sampled | undefined => {
    for (let at = node.parent; at !== null; at = byId.get(at)?.parent ?? null) {
      const found = wholeById.get(at);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const inTree = whole.filter(({ isSide, earned }) => !isSide || earned !== null);
  const parents = new Map(inTree.map((node) => [node, above(node)]));
  const goneOnFrom = new Set(
    [...parents].flatMap(([node, parent]) =>
      parent !== undefined && extendsTokens(node, parent) ? [parent] : [],
    ),
  );
  return inTree
    .filter((node) => !goneOnFrom.has(node))
    .map((leaf) => {
      const path = [leaf];
      for (let first = leaf; ; first = path[0]!) {
        const parent = parents.get(first);
        if (parent === undefined || !extendsTokens(first, parent)) {
          const reward = alongPath(byId, first, leaf, discount);
          return lineOf(session, 'concat', path, reward, parent?.turn.id ?? null);
        }
        path.unshift(parent);
      }
    });
}

/** Whether a request begins with all tokens of another one and of its answer. */
function extendsTokens({ tokens: { promptIds } }: Sampled, { tokens: before }: Sampled): boolean {
  const [asked, answered] = [before.promptIds, before.responseIds];
  return (
    promptIds.length >= asked.length + answered.length &&
    asked.every((id, index) => promptIds[index] === id) &&
    answered.every((id, index) => promptIds[asked.length + index] === id)
  );
}

/** The return of `first` if its tree had no branch but the one to `last`, below which all stays as it is. */
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

/** Of interactions each of which begins with all tokens of the one before. */
function lineOf(
  { session, task }: Session,
  style: ExportStyle,
  path: readonly Sampled[],
  reward: number | null,
  split: string | null,
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
    ...{ session_id: session, task, style },
    interaction_ids: path.map(({ turn }) => turn.id),
    turn: last.isSide ? 'side' : 'main',
    ...{ api: last.data.api, model: last.data.model, adapter: last.data.adapter },
    ...{ input_ids, loss_mask, logprobs, versions, reward },
    rewards: path.map(({ earned }) => earned),
    own_rewards: path.map(({ own }) => own),
    advantages: path.map(({ advantage }) => advantage),
    temperatures: path.map(({ tokens }) => tokens.effectiveTemperature),
    not_trained: path.map(({ turn }) => turn.reason),
    finish_reason: last.data.finishReason,
    split,
  };
}
