import { createHash } from 'node:crypto';

/** Uniform numbers in [0, 1), 53 bits each. */
export type Random = () => number;

/**
 * A deterministic source of random numbers: xoshiro128** (Blackman and Vigna 2018). Its 128 bits of state are the
 * first bits of SHA-256 of the seed as text, so that similar seeds such as `batch-1` and `batch-2` give unrelated
 * numbers. Each number takes two draws: 27 and 26 bits. Not for secrets.
 */
export function createRandom(seed: number | string): Random {
  const digest = createHash('sha256').update(String(seed)).digest();
  return xoshiro128(
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12),
  );
}

/** The generator from its four words of state, which must not all be 0. */
function xoshiro128(s0: number, s1: number, s2: number, s3: number): Random {
  const draw = xoshiro128Bits(s0, s1, s2, s3);
  return () => ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53;
}

/** The generator's raw output: unsigned integers of 32 bits. */
export function xoshiro128Bits(s0: number, s1: number, s2: number, s3: number): () => number {
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(s1, 5), 7), 9) >>> 0;
    const shifted = s1 << 9;
    s2 ^= s0;
    s3 ^= s1;
    s1 ^= s2;
    s0 ^= s3;
    s2 ^= shifted;
    s3 = rotateLeft(s3, 11);
    return result;
  };
}

const rotateLeft = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** A number from the standard normal distribution (Box and Muller 1958); takes two uniform ones. */
export function normal(random: Random): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return radius * Math.cos(2 * Math.PI * random());
}
