import type { ClawLoopEvent } from '../events/catalogue.ts';
import type { Draft } from '../log/rows.ts';
import {
  baseVersion,
  type HeadChange,
  type HeadState,
  type HeadView,
  headChange,
  type VersionRow,
} from './head.ts';

/**
 * Rows of one adapter: `head/now`, `version/<number>`, `command/<id>`. One row per version, so that rows do not
 * grow.
 */
type HeadRow = Pick<HeadState, 'head' | 'n' | 'open' | 'canary'>;

const none: HeadRow = { head: 0, n: 0, open: null };

const tables = (draft: Draft) => ({
  head: draft.table<HeadRow>('head'),
  versions: draft.table<VersionRow>('version'),
  commands: draft.table<true>('command'),
});

export function headView(draft: Draft): HeadView {
  const { head, versions, commands } = tables(draft);
  const row = head.get('now') ?? none;
  return {
    ...row,
    version: (version) => versions.get(String(version)) ?? (version === 0 ? baseVersion : undefined),
    hasCommand: (id) => commands.get(id) === true,
  };
}

export function writeHeadChange(draft: Draft, change: HeadChange): void {
  const { head, versions, commands } = tables(draft);
  const { version, command, ...plain } = change;
  if (Object.keys(plain).length > 0) head.set('now', { ...(head.get('now') ?? none), ...plain });
  if (version !== undefined) versions.set(String(version[0]), version[1]);
  if (command !== undefined) commands.set(command, true);
}

/** Like `applyHead`, for rows. */
export function foldHead(draft: Draft, event: ClawLoopEvent): void {
  const change = headChange(headView(draft), event);
  if (change !== undefined) writeHeadChange(draft, change);
}
