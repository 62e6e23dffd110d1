import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { attribute } from '../attribute.ts';
import { assistant, user } from './events.ts';
import { brief, runFold } from './run-fold.ts';

/** The events that `attribute` emits, one line each. */
export const emittedLines = (events: readonly ClawLoopEvent[]) =>
  runFold(attribute, events, {}).emitted.map(brief);

/** Messages of a new chat, and of one that continued after its first answer. */
export const hi = [user('hi')];
export const goesOn = (answer: string, words: string) => [...hi, assistant(answer), user(words)];
