import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { attribute } from '../attribute.ts';
import { assistant, user } from './events.ts';
import { brief, runFold } from './run-fold.ts';

/** What attribution makes of facts, a line for each. */
export const told = (events: readonly ClawLoopEvent[]) => runFold(attribute, events, {}).emitted.map(brief);

/** Messages of a chat that has just begun, and of one that went on after its first answer. */
export const hi = [user('hi')];
export const goesOn = (answer: string, words: string) => [...hi, assistant(answer), user(words)];
