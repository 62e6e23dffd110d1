import { z } from 'zod';

/** Position of a record in its topic. Offsets rise strictly per partition, starting at 0; only SQLite's are dense. */
export const position = z.object({ partition: z.int().min(0), offset: z.int().min(0) });
export type Position = z.output<typeof position>;
