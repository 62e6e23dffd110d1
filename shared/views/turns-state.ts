import { z } from 'zod';
import { headState } from '../lineage/head-state.ts';
import { returnedState } from './returned-turns.ts';

/** What a reader of turns knows besides the rows, as it is stored. */
export const turnsState = z.object({
  /** samples of each open batch */
  openBatches: z.array(z.tuple([z.string(), z.array(z.string())])),
  /** batches that wait to train again */
  returned: returnedState.default([]),
  /** by adapter */
  heads: z.record(z.string(), headState),
  /** packed places and types of records that came before their answer */
  early: z.array(z.tuple([z.string(), z.array(z.tuple([z.int(), z.string()]))])),
});
export type TurnsState = z.output<typeof turnsState>;
