/** Of a schema or a list of choices: letters of its names and texts, and levels of its JSON. */
const MOST_LETTERS = 200_000;
const MOST_LEVELS = 100;

/** Why a schema or a list is too large to be looked at; undefined: it is not. Stops looking where it is. */
export function tooLarge(value: unknown): string | undefined {
  let size = 0;
  /** What is wrong from this value on. */
  const faultOf = (one: unknown, level: number): string | undefined => {
    size += typeof one === 'string' ? one.length + 2 : 1;
    if (level > MOST_LEVELS) return `it is nested deeper than ${MOST_LEVELS} levels`;
    if (size > MOST_LETTERS) return TOO_LONG;
    if (typeof one !== 'object' || one === null) return undefined;
    if (Array.isArray(one)) return firstFault(one, level);
    for (const name in one) {
      size += name.length;
      const fault = faultOf((one as Readonly<Record<string, unknown>>)[name], level + 1);
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

const TOO_LONG = `it is longer than ${MOST_LETTERS} letters`;
