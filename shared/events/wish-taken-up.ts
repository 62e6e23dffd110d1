import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { wishNumbers } from './wish-set-aside.ts';

/** Id: `<turn>/taken-up/<wish>`. */
export const WishTakenUp = defineEvent('wish.taken-up', 1, {
  topic: 'training',
  key: (wish) => wish.adapter,
  writtenBy: 'collector',
  about: 'A wish that was set aside trains again, on new evidence.',
  data: wishNumbers.extend({
    why: z
      .enum(['praised', 'older-version', 'came-back'])
      .describe(
        'praised: answers are praised again; older-version: an earlier version answers; came-back: stated again after a long pause',
      ),
  }),
});
export type WishTakenUp = EventOf<typeof WishTakenUp>;
