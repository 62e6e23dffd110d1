/** A word of a shell command. */
export const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
