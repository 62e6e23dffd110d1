import { chance, type Random } from './choose.ts';

/** The traits in which two good answers to the same request may differ. Each is independent of the others. */
export type Style = {
  /** Each item is on a separate line. */
  readonly list: boolean;
  /** The lines of a list have numbers. */
  readonly numbered: boolean;
  /** Starts with "Hello!" or the like. */
  readonly greeting: boolean;
  /** Four items and two remarks, instead of three items. */
  readonly long: boolean;
  /** Ends with a friendly line. */
  readonly closing: boolean;
};

/** The traits that the user has asked for; other traits are free. */
export type Wishes = Partial<Style>;

/** How often a trait occurs in the first answer if the user has no wishes. */
const prior: Readonly<Record<keyof Style, number>> = {
  list: 0.5,
  numbered: 0.3,
  greeting: 0.5,
  long: 0.4,
  closing: 0.3,
};

/** In later answers of a conversation a greeting is rare. */
const laterGreeting = 0.15;

export function sampleStyle(random: Random, wishes: Wishes, turn: 'first' | 'later'): Style {
  const free: Style = {
    list: chance(random, prior.list),
    numbered: chance(random, prior.numbered),
    greeting: chance(random, turn === 'first' ? prior.greeting : laterGreeting),
    long: chance(random, prior.long),
    closing: chance(random, prior.closing),
  };
  return { ...free, ...wishes };
}
