import { turnCompleted, user } from '../../test-events.ts';
import { readSignals } from './signals.ts';

/** What the words of a person say of the answer that they follow. */
export const signalsOf = (...words: readonly string[]) =>
  readSignals(turnCompleted('t', { next: words.map(user) }).data);
