const TEXT = Symbol('the JSON of this value');
type WithText = { readonly [TEXT]?: JsonText };

/**
 * JSON as text or, where it is long, as its bytes in UTF-8: those are neither copied by the garbage collector
 * nor encoded again on their way to a socket, to another thread or into a file.
 */
export type JsonText = string | Buffer;

/** JSON in pieces, in their order. */
export type JsonPieces = readonly JsonText[];

/**
 * JSON of a value that nobody changes any more and that is written more than once, as the messages of a
 * request are: to the engine and into the log. Made once, and kept on the value, where nobody else sees it: a
 * WeakMap would hold texts of 100 KB until the next full garbage collection.
 */
export function jsonOnce(value: object): JsonText {
  const known = (value as WithText)[TEXT];
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  rememberJson(value, text);
  return text;
}

/** For whoever knows the JSON of a value, as the part of a request that it was read from. */
export function rememberJson(value: object, text: JsonText): void {
  Object.defineProperty(value, TEXT, { value: text, configurable: true });
}

/** Says that two values have the same JSON. */
export function sameJson(from: object, to: object): void {
  const text = (from as WithText)[TEXT];
  if (text !== undefined) rememberJson(to, text);
}

/** JSON of an object with further members, whose values are JSON already. */
export function jsonWith(
  object: object,
  members: Readonly<Record<string, JsonText | JsonPieces>>,
): JsonPieces {
  const pieces: JsonText[] = [];
  let open = JSON.stringify(object).slice(0, -1);
  for (const [name, value] of Object.entries(members)) {
    open += `${open === '{' ? '' : ','}${JSON.stringify(name)}:`;
    if (typeof value === 'string') open += value;
    else {
      pieces.push(open, ...(Buffer.isBuffer(value) ? [value] : value));
      open = '';
    }
  }
  pieces.push(`${open}}`);
  return pieces;
}

export const jsonBytes = (pieces: JsonPieces): number =>
  pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);

/**
 * Bytes where a piece of it is, in a buffer of their own: whoever sends that to another thread sends no more.
 */
export function joinJson(pieces: JsonPieces): string | Buffer<ArrayBuffer> {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  const bytes = Buffer.allocUnsafeSlow(jsonBytes(pieces));
  let at = 0;
  for (const piece of pieces)
    at += typeof piece === 'string' ? bytes.write(piece, at) : piece.copy(bytes, at);
  return bytes;
}
