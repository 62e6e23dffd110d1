import { chance, type Random } from './choose.ts';

/** The traits in which two good answers to the same request may differ. Each is independent of the others. */
export type Style = {
  /** Items on lines of their own. */
  readonly list: boolean;
  /** Opens with "Hello!" or the like. */
  readonly greeting: boolean;
  /** Four items and two remarks, instead of three items. */
  readonly long: boolean;
  /** Ends with a friendly line. */
  readonly closing: boolean;
};

/** What a person has asked for; a trait that is left out is free. */
export type Wishes = Partial<Style>;

/** How often a trait occurs in the first answer when nobody has asked for anything. */
export const prior: Readonly<Record<keyof Style, number>> = {
  list: 0.5,
  greeting: 0.5,
  long: 0.4,
  closing: 0.3,
};

/** In later answers of a conversation a greeting is rare. */
const laterGreeting = 0.15;

export function sampleStyle(random: Random, wishes: Wishes, turn: 'first' | 'later'): Style {
  const free: Style = {
    list: chance(random, prior.list),
    greeting: chance(random, turn === 'first' ? prior.greeting : laterGreeting),
    long: chance(random, prior.long),
    closing: chance(random, prior.closing),
  };
  return { ...free, ...wishes };
}
