import { prepareNativeEnvironment } from '../../../../shared/policy/executors/backend.ts';
import type { Logger } from '../../../../shared/runtime/logger.ts';
import type { Engine } from '../../generation.ts';
import { openPromptThread } from '../open-prompt-thread.ts';
import { sequenceRequest } from '../sequence-text.ts';
import { openThread } from '../thread.ts';
import { createHeartbeat } from './heartbeat.ts';
import type { EngineCalls, EngineEvent, EngineSetup, PromptSetup } from './protocol.ts';

/** Time limits of the threads. */
type LocalLimits = {
  /** ms for one prompt */
  readonly promptTimeoutMs: number;
  /** ms without a response of the generating thread */
  readonly engineTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
};

/**
 * Runs the policy in this process: one thread renders prompts, one generates, and neither blocks HTTP. Resolves
 * when the model is loaded; rejects if it cannot be loaded.
 */
export async function openLocalEngine(
  setup: EngineSetup & PromptSetup,
  { promptTimeoutMs, engineTimeoutMs, logger }: LocalLimits,
): Promise<Engine> {
  prepareNativeEnvironment(setup.threads === undefined ? {} : { threads: setup.threads });
  const [prompts, engine] = await Promise.all([
    openPromptThread(setup, promptTimeoutMs, logger),
    openThread<EngineCalls>(new URL('./engine-thread.ts', import.meta.url), setup),
  ]);
  const heartbeat = createHeartbeat({
    ask: () => engine.call('counters', undefined),
    limitMs: engineTimeoutMs,
  });
  const failed = Promise.race([prompts.failed, engine.failed, heartbeat.failed]);
  failed.catch(() => {}); // may reject before a listener is added
  return {
    name: 'local',
    report: engine.report,
    hasVersions: true,
    generate: async (request, listener, signal) => {
      const prompt = await prompts.call('prompt', request, { signal });
      signal.throwIfAborted();
      const onEvent = (event: unknown) => {
        const engineEvent = event as EngineEvent;
        if (engineEvent.kind === 'started')
          listener.onStart({ ...engineEvent.started, promptTokens: prompt.promptIds.length });
        else listener.onChunk(engineEvent.chunk, engineEvent.choice);
      };
      const call = { ...sequenceRequest(request, prompt), choices: request.choices };
      return engine.call('generate', call, { onEvent, signal });
    },
    countTokens: (parts) => prompts.call('count', parts),
    serve: async (adapter, policy, signal) => engine.call('serve', { adapter, policy }, { signal }),
    counters: () => engine.call('counters', undefined),
    problem: () => prompts.problem() ?? heartbeat.problem(),
    failed,
    close: async () => {
      heartbeat.stop();
      await Promise.all([prompts.close(), engine.close()]);
    },
  };
}
