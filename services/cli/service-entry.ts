import { fileURLToPath } from 'node:url';

export const serviceNames = ['serving', 'collector', 'judge', 'trainer'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The file that a service's process runs. */
export const serviceEntry = (name: ServiceName): string =>
  fileURLToPath(new URL(`../${name}/main.ts`, import.meta.url));

/** What writes the sessions that ended, where `up` is told to: a command of the cli that goes on. */
export const EXPORTER = 'sessions-export';
/** What `up` keeps running. */
export type ProcessName = ServiceName | typeof EXPORTER;

const cli = fileURLToPath(new URL('main.ts', import.meta.url));

/** The words that start it, to be followed by its flags. */
export const programOf = (name: ProcessName): readonly string[] =>
  name === EXPORTER ? [cli, 'sessions', 'export', '--follow'] : [serviceEntry(name)];
