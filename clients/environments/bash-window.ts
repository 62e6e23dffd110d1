import type { Message } from './chat-completions.ts';

/** An answer and the results of its commands. */
export type Turn = readonly Message[];

/** share of the limit that remains after turns were left out: few large cuts keep the prefixes of later requests */
const AFTER_CUT = 0.6;
/** share of what remains that goes to the first turns */
const HEAD = 0.3;
/** characters per token until the server has counted */
const FIRST_RATIO = 4;

/**
 * A conversation that stays below a number of tokens. Full, it keeps its opening and whole turns from its beginning
 * and its end, with one line for those between them.
 *
 * @param limit tokens; undefined: everything stays
 */
export function createWindow(opening: readonly Message[], limit: number | undefined) {
  let turns: readonly Turn[] = [];
  /** turns at the beginning that stay in every later cut; undefined: nothing was cut yet */
  let head: readonly Turn[] | undefined;
  let omitted = 0;
  let ratio = FIRST_RATIO;
  const messages = (): readonly Message[] => [
    ...opening,
    ...(head ?? []).flat(),
    ...(omitted === 0 ? [] : [gap(omitted)]),
    ...turns.flat(),
  ];
  return {
    messages,
    /** Reports the number of tokens of the last request. */
    measured: (tokens: number): void => {
      if (tokens > 0) ratio = charactersOf(messages()) / tokens;
    },
    add: (turn: Turn): void => {
      turns = [...turns, turn];
      if (limit === undefined || charactersOf(messages()) / ratio <= limit) return;
      const room = limit * AFTER_CUT * ratio - charactersOf(opening);
      const kept = keptTurns(turns.map(charactersOf), room, head?.map(charactersOf));
      head ??= turns.slice(0, kept.head);
      const from = turns.length - kept.tail;
      omitted += from - kept.head;
      turns = turns.slice(from);
    },
  };
}

const gap = (omitted: number): Message => ({
  role: 'user',
  content: `[${omitted} earlier turns are left out here]`,
});

const charactersOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + JSON.stringify(message).length, 0);

/**
 * How many turns to keep of the beginning and of the end. The last turn always stays.
 *
 * @param sizes of the turns after the head, in characters
 * @param room for all turns
 * @param fixed sizes of the head that an earlier cut chose; undefined: this is the first cut
 */
export function keptTurns(
  sizes: readonly number[],
  room: number,
  fixed: readonly number[] | undefined,
): { readonly head: number; readonly tail: number } {
  const head = fixed !== undefined ? 0 : countWithin(sizes.slice(0, -1), room * HEAD);
  const used = [...(fixed ?? []), ...sizes.slice(0, head)].reduce((sum, size) => sum + size, 0);
  const tail = countWithin(sizes.slice(head).reverse(), room - used);
  return { head, tail: Math.max(1, tail) };
}

/** How many of the first sizes fit together. */
function countWithin(sizes: readonly number[], room: number): number {
  let sum = 0;
  const over = sizes.findIndex((size) => {
    sum += size;
    return sum > room;
  });
  return over === -1 ? sizes.length : over;
}
