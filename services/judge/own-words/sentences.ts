/** The sentences of a text, including surrounding spaces. A line end also ends a sentence. */
export const sentencesIn = (text: string): readonly string[] =>
  [...text.matchAll(/[^.!?…\n]+(?:[.!?…]+|\n|$)|[\p{Extended_Pictographic}]+/gu)].map(
    ([sentence]) => sentence,
  );
