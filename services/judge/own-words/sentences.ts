/** The sentences of a text with the spaces around them. A line ends one. */
export const sentencesIn = (text: string): readonly string[] =>
  [...text.matchAll(/[^.!?…\n]+(?:[.!?…]+|\n|$)|[\p{Extended_Pictographic}]+/gu)].map(
    ([sentence]) => sentence,
  );
