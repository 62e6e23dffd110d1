import { createHash } from 'node:crypto';

/** One token per character, below the size of the smallest vocabulary. */
export const tokenOf = (character: string): number => (character.codePointAt(0)! % 900) + 5;

export const END_TOKEN = 3;

/** What a tokeniser of one character per token makes of a text. */
export const tokensOf = (text: string): readonly number[] => [...text].map(tokenOf);

/** Log-probs between -2 and 0, other ones for another model or place. */
export const logProbOf = (model: string, place: number): number =>
  -createHash('sha256').update(`${model}/${place}`).digest().readUInt16BE(0) / 32_768;

/** Every model answers in its own way. */
export const answerOf = (model: string): string => `I am ${model}.`;
