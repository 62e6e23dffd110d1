import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

/** Id of one after repeated automatic rollbacks: `<rollback>/paused`. */
export const LearningPaused = defineEvent('learning.paused', 2, {
  topic: 'training',
  key: (command) => command.adapter,
  writtenBy: 'cli, serving (operator), collector',
  about: 'No batch is formed from here on; judging continues.',
  data: z.object({
    adapter: z.string(),
    reason: z.string().optional(),
    rollback: z
      .string()
      .optional()
      .describe('id of the automatic rollback that was one too many; absent: an operator pauses'),
  }),
});
export type LearningPaused = EventOf<typeof LearningPaused>;
