import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { disagreement } from './disagreement.ts';

/** Id: `<turn>/skipped`, or `<turn>/too-late`. */
export const TurnSkipped = defineEvent('turn.skipped', 5, {
  topic: 'turns',
  key: (turn) => turn.lane,
  writtenBy: 'collector',
  about: 'An interaction will not train, for the given reason.',
  data: z.object({
    turnId: z.string(),
    lane: z.string(),
    session: z.string().optional(),
    epoch: z.string().optional(),
    reason: z
      .enum([
        'side',
        'secret',
        'aborted',
        'truncated',
        'empty',
        'unknown-finish-reason',
        'superseded',
        'no-next-state',
        'no-reward',
        'discarded',
        'deleted',
        'withdrawn',
        'too-late',
        'too-large',
        'no-token-ids',
        'logprob-temperature',
        'mixed-versions',
        'penalties',
        'constrained',
        'record-gone',
      ])
      .describe('why it does not train'),
    rule: z
      .string()
      .optional()
      .describe(
        'the rule that matched; for a secret its kind and rule version, such as jwt@1; for a lost record its position',
      ),
    disagreement: disagreement.optional().describe('the content disagrees with the client'),
    answered: z
      .object({ adapter: z.string(), version: z.int().min(0), key: z.string() })
      .optional()
      .describe('only for truncated and empty: the version whose fault it may be; absent in earlier events'),
    by: z.string().describe('id of the event that decided it'),
  }),
});
export type TurnSkipped = EventOf<typeof TurnSkipped>;
