import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

export const LearningResumed = defineEvent('learning.resumed', 1, {
  topic: 'training',
  key: (command) => command.adapter,
  writtenBy: 'cli, serving (operator)',
  about: 'Batches are formed again.',
  data: z.object({ adapter: z.string(), reason: z.string().optional() }),
});
export type LearningResumed = EventOf<typeof LearningResumed>;
