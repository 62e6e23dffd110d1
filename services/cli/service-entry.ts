import { fileURLToPath } from 'node:url';

export const serviceNames = ['serving', 'collector', 'judge', 'trainer'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The file that a service's process runs. */
export const serviceEntry = (name: ServiceName): string =>
  fileURLToPath(new URL(`../${name}/main.ts`, import.meta.url));
