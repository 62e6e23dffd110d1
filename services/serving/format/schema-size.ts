/** Of a schema: letters of its keywords and texts, and levels of its JSON. */
const MOST_LETTERS = 200_000;
const MOST_LEVELS = 100;

/** Why a schema is too large to be looked at; undefined: it is not. Costs no more where it is. */
export function tooLarge(schema: unknown): string | undefined {
  const open: { readonly value: unknown; readonly level: number }[] = [{ value: schema, level: 0 }];
  let size = 0;
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const { value, level } = one;
    size += typeof value === 'string' ? value.length + 2 : 1;
    if (level > MOST_LEVELS) return `the schema is nested deeper than ${MOST_LEVELS} levels`;
    if (size > MOST_LETTERS) return `the schema is longer than ${MOST_LETTERS} letters`;
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, part] of Object.entries(value)) {
      size += name.length;
      open.push({ value: part, level: level + 1 });
    }
  }
  return undefined;
}
