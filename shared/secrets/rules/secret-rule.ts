export type SecretRule = {
  readonly kind: string;
  readonly about: string;
  /**
   * Global. The secret is the group `secret`, which ends the match, or the whole match if there is no such group.
   * Quantifiers are bounded, so that the time is linear in the text.
   */
  readonly pattern: RegExp;
  /** A check that a pattern cannot express. */
  readonly holds: (secret: string, text: string, start: number) => boolean;
};

/** Matches `body` only as a whole word, not inside a longer word. */
export const word = (body: string) => new RegExp(`(?<![A-Za-z0-9])(?:${body})(?![A-Za-z0-9])`, 'g');
export const wordWithDashes = (body: string) => new RegExp(`(?<![\\w-])(?:${body})(?![\\w-])`, 'g');
