/** Token ids of a prompt with this many characters, about four to a token. */
export const promptIds = (characters: number): readonly number[] =>
  Array.from({ length: Math.ceil(characters / 4) }, (_, index) => (index * 7919) % 150_000);
