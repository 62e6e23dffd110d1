/** Bounds of a schema or a list of choices: characters of its names and strings, and levels of its JSON. */
const MOST_CHARACTERS = 200_000;
const MOST_LEVELS = 100;

/** Why a schema or a list is too large; undefined if it is not. Stops at the first excess. */
export function tooLarge(value: unknown): string | undefined {
  let size = 0;
  /** The first fault in a value. */
  const faultOf = (part: unknown, level: number): string | undefined => {
    size += typeof part === 'string' ? part.length + 2 : 1;
    if (level > MOST_LEVELS) return `it is nested deeper than ${MOST_LEVELS} levels`;
    if (size > MOST_CHARACTERS) return TOO_LONG;
    if (typeof part !== 'object' || part === null) return undefined;
    if (Array.isArray(part)) return firstFault(part, level);
    for (const name in part) {
      size += name.length;
      const fault = faultOf((part as Readonly<Record<string, unknown>>)[name], level + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  const firstFault = (list: readonly unknown[], level: number): string | undefined => {
    for (const part of list) {
      const fault = faultOf(part, level + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  return faultOf(value, 0);
}

const TOO_LONG = `it is longer than ${MOST_CHARACTERS} characters`;
