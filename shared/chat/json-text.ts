const TEXT = Symbol('the JSON of this value');
type WithText = { readonly [TEXT]?: string };

/**
 * JSON of a value that nobody changes any more and that is written more than once, as the messages of a
 * request are: to the engine and into the log. Made once, and kept on the value, where nobody else sees it: a
 * WeakMap would hold texts of 100 KB until the next full garbage collection.
 */
export function jsonOnce(value: object): string {
  const known = (value as WithText)[TEXT];
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  rememberJson(value, text);
  return text;
}

/** For whoever knows the JSON of a value, as the part of a request that it was read from. */
export function rememberJson(value: object, text: string): void {
  Object.defineProperty(value, TEXT, { value: text, configurable: true });
}

/** Says that two values have the same JSON. */
export function sameJson(from: object, to: object): void {
  const text = (from as WithText)[TEXT];
  if (text !== undefined) rememberJson(to, text);
}

/** JSON of an object with further members, whose values are JSON already. Texts are added up, not copied. */
export function jsonWith(object: object, members: Readonly<Record<string, string>>): string {
  let text = JSON.stringify(object).slice(0, -1);
  for (const [name, value] of Object.entries(members))
    text += `${text === '{' ? '' : ','}${JSON.stringify(name)}:${value}`;
  return `${text}}`;
}
