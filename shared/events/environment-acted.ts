import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';
import { leaseFields } from './environment-fields.ts';

/** Id: `<session>/environment/acted/<call>`. */
export const EnvironmentActed = defineEvent('environment.acted', 1, {
  topic: 'conversations',
  key: (lease) => lease.lane,
  writtenBy: 'serving',
  about: 'The environment carried out an action of the attempt.',
  data: z.object({
    ...leaseFields,
    call: z.string().describe('id of the action, unique in the session'),
    name: z.string().describe('name of the tool, or `say`'),
    argumentsDigest: z.string().describe('SHA-256 of the arguments as JSON'),
    observationDigest: z.string().describe('SHA-256 of what the policy saw'),
    bytes: z.int().describe('length of what the policy saw'),
    isError: z.boolean().describe('the action was refused, or its tool failed'),
    isDone: z.boolean().describe('the episode ended'),
    stateKey: z.string().optional().describe('equal for equal states of one task'),
    ms: z.number(),
  }),
});
export type EnvironmentActed = EventOf<typeof EnvironmentActed>;
