import { z } from 'zod';

/** Token ids. */
export const intList = () => checkedAtOnce(z.array(z.int()), Number.isSafeInteger).readonly();

/** Finite numbers. */
export const numberList = () => checkedAtOnce(z.array(z.number()), Number.isFinite).readonly();

/**
 * The same schema, which passes a list of valid numbers after one loop. zod makes an object per number, and a record has
 * thousands; a list with anything else goes to zod, for its messages.
 */
function checkedAtOnce<Item extends z.ZodType>(
  schema: z.ZodArray<Item>,
  isValid: (item: unknown) => boolean,
): z.ZodArray<Item> {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) =>
    Array.isArray(payload.value) && payload.value.every(isValid) ? payload : run(payload, context);
  return schema;
}
