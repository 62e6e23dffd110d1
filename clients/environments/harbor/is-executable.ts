import { statSync } from 'node:fs';

/** Whether everybody may run a file of this machine. A copy in a container keeps its mode. */
export const isExecutable = (path: string): boolean => (statSync(path).mode & 0o111) === 0o111;
