// Plain JavaScript: this runs on the machine's own Node, which may be too old to strip types.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const bundled = fileURLToPath(new URL('./node_modules/node/bin/node', import.meta.url));
export const OLDEST = 24;

export const machineNodeWillDo = Number(process.versions.node.split('.')[0]) >= OLDEST;

/**
 * The Node to run ClawLoop on: the machine's own from 24 on, else the npm package `node`; undefined: not
 * installed yet.
 */
export function nodePath() {
  if (machineNodeWillDo) return process.execPath;
  return existsSync(bundled) ? bundled : undefined;
}
