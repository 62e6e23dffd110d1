import { z } from 'zod';

// Values that the fields of all three APIs read alike.

/** Tokens of an answer, of which some clients write "no limit" as -1. */
export const tokenLimit = z
  .int()
  .refine((value) => value >= 1 || value === -1, 'expected 1 or more, or -1 for no limit');

/** Undefined: as much as the context leaves. */
export const limitOf = (asked: number | null | undefined): number | undefined =>
  asked == null || asked === -1 ? undefined : asked;

/** Some clients number their users. */
export const userName = z.union([z.string().max(512), z.number()]);
export const userText = (user: string | number | null | undefined): string | undefined =>
  user == null ? undefined : String(user);
