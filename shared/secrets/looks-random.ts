const placeholder = /example|your|placeholder|replace|dummy|redacted|changeme|insert|(.)\1{4}/i;
/** characters of the longest part that names and words do not reach: letters and digits mixed */
const MIXED_LENGTH = 12;
const DISTINCT = 8;

/** Whether a value was drawn, not written: one long part of it mixes letters and digits, and no word is for show. */
export function looksRandom(value: string): boolean {
  if (placeholder.test(value) || new Set(value).size < DISTINCT) return false;
  return value
    .split(/[^A-Za-z0-9]/)
    .some((part) => part.length >= MIXED_LENGTH && /\d/.test(part) && /[A-Za-z]/.test(part));
}

/** Whether a value is more than a prefix with a row of one character, as documentation writes it. */
export const isNoFiller = (value: string): boolean => !/(.)\1{8}/.test(value) && new Set(value).size >= 6;

/** RFC 7515: the first part of three is a JSON object that names its algorithm. */
export function isJwt(token: string): boolean {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString());
    return typeof header === 'object' && header !== null && 'alg' in header;
  } catch {
    return false;
  }
}
