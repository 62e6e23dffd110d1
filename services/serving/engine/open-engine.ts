import { CLAW_NANO, modelFolder } from '../../../shared/policy/model-folder.ts';
import { ConfigError } from '../../../shared/service/config.ts';
import type { ServingConfig } from '../config.ts';
import type { Engine } from './engine.ts';
import { openLocalEngine } from './local.ts';
import { openUpstreamEngine } from './upstream.ts';

/**
 * The engine that the settings name. Rejects with ConfigError when they cannot be used, else as the
 * engine's start does.
 */
export async function openEngine(config: ServingConfig): Promise<Engine> {
  if (config.engine === 'local') {
    const { context, model } = config;
    return openLocalEngine({
      modelFolder: modelFolder(model),
      backend: config.backend,
      threads: config.threads ?? (model === CLAW_NANO ? 1 : undefined),
      context: context === 'auto' ? (model === CLAW_NANO ? 'window' : 'error') : context,
      contextTokens: config.contextTokens,
      maxBatch: config.maxBatch,
      keptVersions: config.keptVersions,
    });
  }
  if (config.upstreamUrl === undefined) throw new ConfigError('the engine `upstream` needs --upstream-url');
  return openUpstreamEngine({
    url: config.upstreamUrl,
    apiKey: config.upstreamApiKey,
    model: config.upstreamModel,
    logProbs: config.upstreamLogprobs,
    tokenIds: config.upstreamTokenIds,
    timeoutMs: config.upstreamTimeoutMs,
  });
}
