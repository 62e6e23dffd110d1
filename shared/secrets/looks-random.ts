const placeholder = /example|your|placeholder|replace|dummy|redacted|changeme|insert|(.)\1{4}/i;
/** characters: names and words rarely mix letters and digits over this length */
const MIXED_LENGTH = 12;
const DISTINCT = 8;

/** Whether a value looks random: a long part mixes letters and digits, and it has no placeholder word. */
export function looksRandom(value: string): boolean {
  if (placeholder.test(value) || new Set(value).size < DISTINCT) return false;
  return value
    .split(/[^A-Za-z0-9]/)
    .some((part) => part.length >= MIXED_LENGTH && /\d/.test(part) && /[A-Za-z]/.test(part));
}

/** Whether a value is not a placeholder made of one repeated character. */
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
