import { z } from 'zod';

// Values that all three APIs read the same way.

/** Maximum tokens of an answer; some clients send -1 for no limit. */
export const tokenLimit = z
  .int()
  .refine((value) => value >= 1 || value === -1, 'expected 1 or more, or -1 for no limit');

/** Undefined: limited only by the context. */
export const limitOf = (maxTokens: number | null | undefined): number | undefined =>
  maxTokens == null || maxTokens === -1 ? undefined : maxTokens;

/** Some clients use numbers for users. */
export const userName = z.union([z.string().max(512), z.number()]);
export const userText = (user: string | number | null | undefined): string | undefined =>
  user == null ? undefined : String(user);
