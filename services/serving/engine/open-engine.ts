import type { ServingConfig } from '../../../shared/config/serving.ts';
import { trainableTemperature } from '../../../shared/config/training-server.ts';
import { findModel } from '../../../shared/hub/find-model.ts';
import { isShipped } from '../../../shared/policy/model/model-folder.ts';
import type { Engine } from '../generation.ts';
import { contextMode } from './context.ts';
import { openLocalEngine } from './local/local.ts';
import { openUpstream, type UpstreamOptions } from './upstream/open-upstream.ts';

/**
 * Opens the configured engine. Rejects with ConfigError for invalid settings, or with the engine's own error.
 * @param fetching options to fetch the model from the hub
 */
export async function openEngine(config: ServingConfig, fetching: UpstreamOptions): Promise<Engine> {
  if (config.engine === 'local') {
    const { model } = config;
    const setup = {
      modelFolder: await findModel(config, fetching),
      backend: config.backend,
      threads: config.threads ?? (isShipped(model) ? 1 : undefined),
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
      temperature: trainableTemperature(config),
    };
    const { promptTimeoutMs, engineTimeoutMs } = config;
    return openLocalEngine(setup, { promptTimeoutMs, engineTimeoutMs, logger: fetching.logger });
  }
  return openUpstream(config, fetching);
}
