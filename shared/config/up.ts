import { z } from 'zod';

/** Settings of `clawloop up` itself. */
export const UpConfig = z.object({
  serviceLogMib: z
    .number()
    .positive()
    .default(32)
    .describe('MiB of a log file in logs/ of the data folder; a full file is renamed to NAME.log.1'),
  serviceLogFiles: z
    .int()
    .min(2)
    .max(1000)
    .default(2)
    .describe('log files per service, with the one that grows; older files are removed'),
});
export type UpConfig = z.output<typeof UpConfig>;
