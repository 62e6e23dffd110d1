import { z } from 'zod';
import { defineEvent, type EventOf } from './define-event.ts';

export const LearningPaused = defineEvent('learning.paused', 1, {
  topic: 'training',
  key: (command) => command.adapter,
  writtenBy: 'cli, serving (operator)',
  about: 'No batch is formed from here on; judging continues.',
  data: z.object({ adapter: z.string(), reason: z.string().optional() }),
});
export type LearningPaused = EventOf<typeof LearningPaused>;
