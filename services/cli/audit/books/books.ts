import { openColumn } from './column.ts';
import { type Ids, type Names, openIds, openManyNames, openNames } from './ids.ts';

/** The numbers under which all checks of one audit keep what they know, in columns. */
export type Books = {
  /** ids of events in `conversations`, of turns, and of samples */
  readonly items: Names;
  /** ids of events that may settle a turn, in the order of the log */
  readonly causes: Ids;
  /** sessions, epochs, lanes, keys, adapters, and words of few values */
  readonly names: Names;
};

export const openBooks = (): Books => ({
  items: openManyNames(),
  causes: openIds(),
  names: openNames(),
});

/** A set of texts. */
export type TextSet = { readonly has: (text: string) => boolean; readonly add: (text: string) => void };

/** The texts of `ids` that were added to this set. */
export function openTextSet(ids: Ids): TextSet {
  const column = openColumn('byte');
  return {
    has: (text) => {
      const number = ids.find(text);
      return number >= 0 && column.get(number) === 1;
    },
    add: (text) => column.set(ids.add(text), 1),
  };
}

/** A number per text, 0 for a text without one. */
export function openTextNumbers(ids: Ids, width: 'byte' | 'int' | 'double') {
  const column = openColumn(width);
  return {
    get: (text: string): number => {
      const number = ids.find(text);
      return number < 0 ? 0 : column.get(number);
    },
    set: (text: string, value: number): void => column.set(ids.add(text), value),
  };
}
