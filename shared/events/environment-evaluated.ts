import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/evaluated`. */
export const EnvironmentEvaluated = defineEvent('environment.evaluated', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The environment rated the attempt, once.',
  data: z.object({
    ...leaseFields,
    reward: z
      .number()
      .nullable()
      .describe('on the scale of the environment; null: it does not rate, a reward function does'),
    detailDigest: z.string().describe('SHA-256 of what the environment says about the reward, as JSON'),
  }),
});
export type EnvironmentEvaluated = EventOf<typeof EnvironmentEvaluated>;
