import { z } from 'zod';

/** Where a record stands in its topic. Offsets are dense per partition and start at 0. */
export const position = z.object({ partition: z.int().min(0), offset: z.int().min(0) });
export type Position = z.output<typeof position>;
