const LONGEST = 300;
/** characters of a reason that are processed */
const LONGEST_READ = 4_000;
const DIGEST = /\b[0-9a-f]{16,}\b/gi;

/**
 * Removes paths, addresses and digests from a reason, so that it can be sent to anybody; the log has the full
 * text. A name with one slash, such as a hub model, stays.
 */
export const withoutPlaces = (reason: string): string =>
  reason
    .slice(0, LONGEST_READ)
    .split(/([\s,;'"()]+)/)
    .map((word) => (isPlace(word) ? '...' : word))
    .join('')
    .replace(DIGEST, '...')
    .slice(0, LONGEST);

/** Whether a word begins like a path, or has two slashes like an address. */
const isPlace = (word: string): boolean => /^[~.]{0,2}[/\\]./.test(word) || word.split(/[/\\]/).length > 2;
