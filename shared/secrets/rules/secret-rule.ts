export type SecretRule = {
  readonly kind: string;
  readonly about: string;
  /**
   * Global. The secret is the group of that name, which ends the match, else the whole match. Quantifiers are
   * bounded, so that no text takes more than linear time.
   */
  readonly pattern: RegExp;
  /** What a pattern cannot express. */
  readonly holds: (secret: string, text: string, start: number) => boolean;
};

/** A token of this alphabet neither begins nor ends inside a longer word. */
export const word = (body: string) => new RegExp(`(?<![A-Za-z0-9])(?:${body})(?![A-Za-z0-9])`, 'g');
export const wordWithDashes = (body: string) => new RegExp(`(?<![\\w-])(?:${body})(?![\\w-])`, 'g');
