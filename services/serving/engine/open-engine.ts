import { findModel } from '../../../shared/hub/find-model.ts';
import { CLAW_NANO } from '../../../shared/policy/model-folder.ts';
import type { ServingConfig } from '../config.ts';
import { contextMode } from './context.ts';
import type { Engine } from './engine.ts';
import { openLocalEngine } from './local.ts';
import { openUpstream, type UpstreamOptions } from './open-upstream.ts';

/**
 * The engine that the settings name; `fetching`: of a model that has to come from the hub first. Rejects
 * with ConfigError when they cannot be used, else as the
 * engine's start does.
 */
export async function openEngine(config: ServingConfig, fetching: UpstreamOptions): Promise<Engine> {
  if (config.engine === 'local') {
    const { model } = config;
    const setup = {
      modelFolder: await findModel(config, fetching),
      backend: config.backend,
      threads: config.threads ?? (model === CLAW_NANO ? 1 : undefined),
      context: contextMode(config),
      systemBudget: config.systemBudget,
      contextTokens: config.contextTokens,
      maxBatch: config.maxBatch,
      maxWaiting: config.maxWaiting,
      prefillTokens: config.prefillTokens,
      cacheBytes: config.kvCacheMib * 2 ** 20,
      prefixBytes: config.prefixCacheMib * 2 ** 20,
      warmPrompts: config.warmPrompts,
      keptVersions: config.keptVersions ?? (config.training === 'full' ? 0 : 2),
    };
    const { promptTimeoutMs, engineTimeoutMs } = config;
    return openLocalEngine(setup, { promptTimeoutMs, engineTimeoutMs, logger: fetching.logger });
  }
  return openUpstream(config, fetching);
}
