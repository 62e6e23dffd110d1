import { turnCompleted, user } from '../../../testing/events.ts';
import { readSignals } from '../signals.ts';

/** The verdict of the rules on an answer that these words follow. */
export const signalsOf = (...words: readonly string[]) =>
  readSignals(turnCompleted('t', { next: words.map(user) }).data);
