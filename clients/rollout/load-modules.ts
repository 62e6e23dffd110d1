import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from '../../shared/runtime/command-errors.ts';
import type { Agent, RewardFunction } from './contract.ts';

/**
 * Loads a module's function: the export with that name, or the default export. TypeScript is loaded with its
 * types stripped.
 *
 * @throws UsageError when the module cannot be loaded or has no such function
 */
async function loadFunction(path: string, name: string): Promise<(...input: never[]) => unknown> {
  const url = pathToFileURL(resolve(path)).href;
  const module = (await import(url).catch((error: Error) => {
    throw new UsageError(`cannot load ${path}: ${error.message}`);
  })) as Readonly<Record<string, unknown>>;
  const loaded = module[name] ?? module.default;
  if (typeof loaded !== 'function')
    throw new UsageError(`${path} exports no function; expected: export const ${name} = async (...) => ...`);
  return loaded as (...input: never[]) => unknown;
}

/** @throws UsageError */
export const loadAgent = async (path: string): Promise<Agent> => (await loadFunction(path, 'agent')) as Agent;

/** @throws UsageError */
export const loadReward = async (path: string): Promise<RewardFunction> =>
  (await loadFunction(path, 'reward')) as RewardFunction;
