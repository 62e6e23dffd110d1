import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from '../command.ts';
import type { Agent, RewardFunction } from './contract.ts';

/**
 * A module's function: its export of that name, or its default one. TypeScript is loaded as it is, its types
 * stripped.
 *
 * @throws UsageError when the module cannot be loaded, or has no such function
 */
async function loadFunction(path: string, name: string): Promise<(...input: never[]) => unknown> {
  const url = pathToFileURL(resolve(path)).href;
  const module = (await import(url).catch((error: Error) => {
    throw new UsageError(`${path} cannot be loaded: ${error.message}`);
  })) as Readonly<Record<string, unknown>>;
  const found = module[name] ?? module.default;
  if (typeof found !== 'function')
    throw new UsageError(`${path} exports no function: export const ${name} = async (...) => ...`);
  return found as (...input: never[]) => unknown;
}

/** @throws UsageError */
export const loadAgent = async (path: string): Promise<Agent> => (await loadFunction(path, 'agent')) as Agent;

/** @throws UsageError */
export const loadReward = async (path: string): Promise<RewardFunction> =>
  (await loadFunction(path, 'reward')) as RewardFunction;
