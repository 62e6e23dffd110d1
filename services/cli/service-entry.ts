import { fileURLToPath } from 'node:url';

export const serviceNames = ['serving', 'collector', 'judge', 'trainer', 'console'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The entry file of a service. */
export const serviceEntry = (name: ServiceName): string =>
  fileURLToPath(new URL(`../${name}/main.ts`, import.meta.url));

/** The process behind `up --sessions-export`: a cli command that keeps running. */
export const EXPORTER = 'sessions-export';
/** A process that `up` supervises. */
export type ProcessName = ServiceName | typeof EXPORTER;

const cli = fileURLToPath(new URL('main.ts', import.meta.url));

/** The command line that starts a process, without its flags. */
export const programOf = (name: ProcessName): readonly string[] =>
  name === EXPORTER ? [cli, 'sessions', 'export', '--follow'] : [serviceEntry(name)];
