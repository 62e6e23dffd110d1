const TEXT = Symbol('the JSON of this value');
type WithText = { readonly [TEXT]?: JsonText };

/**
 * JSON as text or, if long, as UTF-8 bytes. The garbage collector does not copy bytes, and sockets, threads and
 * files need no further encoding.
 */
export type JsonText = string | Buffer;

/** Pieces of JSON in order. */
export type JsonPieces = readonly JsonText[];

/**
 * JSON of an immutable value that is written more than once, such as the messages of a request: to the engine
 * and to the log. It is made once and stored on the value under a private symbol. A WeakMap would keep texts of
 * 100 KB until the next full garbage collection.
 */
export function jsonOnce(value: object): JsonText {
  const known = (value as WithText)[TEXT];
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  rememberJson(value, text);
  return text;
}

/** Stores JSON that is already known, such as the part of the request that a value was parsed from. */
export function rememberJson(value: object, text: JsonText): void {
  Object.defineProperty(value, TEXT, { value: text, configurable: true });
}

/** Copies the stored JSON to another value with the same JSON. */
export function sameJson(from: object, to: object): void {
  const text = (from as WithText)[TEXT];
  if (text !== undefined) rememberJson(to, text);
}

/** JSON of an object with additional members, whose values are already JSON. */
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

/** Joins pieces: to bytes if any piece is bytes, in a separate buffer that can be transferred to a thread. */
export function joinJson(pieces: JsonPieces): string | Buffer<ArrayBuffer> {
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('');
  const bytes = Buffer.allocUnsafeSlow(jsonBytes(pieces));
  let at = 0;
  for (const piece of pieces)
    at += typeof piece === 'string' ? bytes.write(piece, at) : piece.copy(bytes, at);
  return bytes;
}
