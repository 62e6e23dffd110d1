const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** A comma, an opening bracket, an opening brace: before each value but the first stands at least one of them. */
const MARKS: ReadonlySet<number> = new Set([0x2c, 0x5b, 0x7b]);

/**
 * Whether a JSON text has more values than this, those within others included. Looks at each byte once at most,
 * and makes nothing. Of what is no JSON the answer may be either.
 */
export function hasMoreValues(json: Buffer, most: number): boolean {
  if (json.length <= most) return false; // each takes a byte at least
  let values = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === QUOTE) {
      at = endOfText(json, at);
      if (at === -1) return false;
    } else if (MARKS.has(byte)) {
      values += 1;
      if (values > most) return true;
    }
  }
  return false;
}

/** Where the closing quote of a text stands; -1: nowhere. @param from its opening quote */
function endOfText(json: Buffer, from: number): number {
  for (let at = json.indexOf(QUOTE, from + 1); at !== -1; at = json.indexOf(QUOTE, at + 1)) {
    let before = at - 1;
    while (json[before] === BACKSLASH) before -= 1;
    if ((at - before) % 2 === 1) return at;
  }
  return -1;
}
