const LONGEST = 300;
/** More of a reason is not looked through. */
const LONGEST_READ = 4_000;
const DIGEST = /\b[0-9a-f]{16,}\b/gi;

/**
 * A reason as anybody may hear it: without the paths, addresses and digests of this machine, which are in the
 * log. A name with one slash, as a model of the hub has it, stays.
 */
export const withoutPlaces = (reason: string): string =>
  reason
    .slice(0, LONGEST_READ)
    .split(/([\s,;'"()]+)/)
    .map((word) => (isPlace(word) ? '...' : word))
    .join('')
    .replace(DIGEST, '...')
    .slice(0, LONGEST);

/** It begins as a path, or has two slashes, as an address has. */
const isPlace = (word: string): boolean => /^[~.]{0,2}[/\\]./.test(word) || word.split(/[/\\]/).length > 2;
