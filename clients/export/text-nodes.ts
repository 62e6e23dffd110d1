import type { ExportNode } from './session-nodes.ts';

const ended: ReadonlySet<string> = new Set(['stop', 'length', 'tool_calls', 'content_filter']);
const isTakenBack = ({ turn }: ExportNode): boolean => ['deleted', 'withdrawn'].includes(turn.reason ?? '');

export type TextNodes = {
  /** in order of arrival */
  readonly nodes: readonly ExportNode[];
  /** interactions that were cut off or taken back, or whose request repeats an answer that was taken back */
  readonly leftOut: number;
  /** interactions left out because their prompt or answer contains a secret */
  readonly withSecrets: number;
};

/** The interactions whose text may be exported. They need no token record. */
export function textNodes(all: readonly ExportNode[]): TextNodes {
  const byId = new Map(all.map((node) => [node.turn.id, node]));
  const repeatsTakenBack = (node: ExportNode): boolean => pathTo(byId, node).some(isTakenBack);
  const whole = all.filter((node) => ended.has(node.data.finishReason) && !repeatsTakenBack(node));
  const nodes = whole.filter(({ holdsSecret }) => !holdsSecret);
  return { nodes, leftOut: all.length - whole.length, withSecrets: whole.length - nodes.length };
}

/** The interactions from the first of a conversation to this one, as far as they are in the map. */
export function pathTo(byId: ReadonlyMap<string, ExportNode>, node: ExportNode): readonly ExportNode[] {
  const path = [node];
  for (let parent = byId.get(node.parent ?? ''); parent !== undefined; parent = byId.get(parent.parent ?? ''))
    path.unshift(parent);
  return path;
}
