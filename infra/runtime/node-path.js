// Plain JavaScript, because the machine's Node may be too old to strip types.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const bundled = fileURLToPath(new URL('./node_modules/node/bin/node', import.meta.url));
export const OLDEST = 24;

export const machineNodeIsRecent = Number(process.versions.node.split('.')[0]) >= OLDEST;

/** The Node to run ClawLoop on: the machine's, if 24 or newer, otherwise the npm package `node`; undefined: not installed. */
export function nodePath() {
  if (machineNodeIsRecent) return process.execPath;
  return existsSync(bundled) ? bundled : undefined;
}
