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

/** JSON of an object with further members, whose values are JSON already. */
export function jsonWith(object: object, members: Readonly<Record<string, string>>): string {
  const body = JSON.stringify(object).slice(1, -1);
  const more = Object.entries(members).map(([name, text]) => `${JSON.stringify(name)}:${text}`);
  return `{${[...(body === '' ? [] : [body]), ...more].join(',')}}`;
}
