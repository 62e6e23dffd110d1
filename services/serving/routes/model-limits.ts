import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findModelHere } from '../../../shared/hub/find-model.ts';
import { parseModelConfig } from '../../../shared/policy/model-config.ts';
import { loadModelSettings, promptLimits } from '../../../shared/policy/model-settings.ts';
import type { ServingConfig } from '../config.ts';
import { contextMode, contextOf } from '../engine/context.ts';

export type ModelLimits = {
  /** of prompt and answer together */
  readonly contextTokens: number;
  /** of a prompt that does not fit */
  readonly mode: 'window' | 'error';
  /** of the system text; undefined: as many as fit */
  readonly systemBudget: number | undefined;
};

/** How much the policy reads and writes; undefined: an upstream engine's own, or the model is not here yet. */
export async function modelLimits(config: ServingConfig): Promise<ModelLimits | undefined> {
  const makesPrompts = config.engine === 'local' || config.upstreamKind === 'sglang';
  const folder = makesPrompts ? findModelHere(config) : undefined;
  if (folder === undefined) return undefined;
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const { contextTokens, kvCacheMib } = config;
  const { tokens } = contextOf(parseModelConfig(JSON.parse(text)), {
    contextTokens,
    cacheBytes: config.engine === 'local' ? kvCacheMib * 2 ** 20 : Number.MAX_SAFE_INTEGER,
  });
  const limits = promptLimits(await loadModelSettings(folder), config.systemBudget);
  return { contextTokens: tokens, mode: contextMode(config), systemBudget: limits?.systemTokens };
}
