const texts = new WeakMap<object, string>();

/**
 * JSON of a value that nobody changes any more and that is written more than once, as the messages of a
 * request are: to the engine and into the log. Made once, and remembered as long as the value is.
 */
export function jsonOnce(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}

/** JSON of an object with further members, whose values are JSON already. Texts are added up, not copied. */
export function jsonWith(object: object, members: Readonly<Record<string, string>>): string {
  let text = JSON.stringify(object).slice(0, -1);
  for (const [name, value] of Object.entries(members))
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${value}`;
  return `${text}}`;
}
