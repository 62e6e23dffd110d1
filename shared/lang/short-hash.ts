import { createHash } from 'node:crypto';

/** 96 bits, hex. The probability of a collision among 10^9 texts is about 10^-11. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 24);
