import type { Fold } from '../log/fold.ts';
import { openDraft } from '../log/rows.ts';
import { foldHead } from './head-rows.ts';

/**
 * The lineage of each adapter, folded in the trainer's group. Its `owed` views show the open batch. Emits
 * nothing.
 */
export const headFold: Fold = {
  name: 'head',
  reads: 'training',
  writes: 'training',
  on: (rows, event) => {
    const draft = openDraft(rows);
    foldHead(draft, event);
    return { changes: draft.changes(), emit: [] };
  },
};
