import { z } from 'zod';

/**
 * Where a record stands in its topic. Offsets rise strictly per partition, from 0 on; only SQLite's are
 * dense.
 */
export const position = z.object({ partition: z.int().min(0), offset: z.int().min(0) });
export type Position = z.output<typeof position>;
