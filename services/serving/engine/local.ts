import { prepareNativeEnvironment } from '../../../shared/policy/backend.ts';
import type { Logger } from '../../../shared/service/logger.ts';
import type { Engine } from './engine.ts';
import { createHeartbeat } from './heartbeat.ts';
import { openPromptThread } from './open-prompt-thread.ts';
import type { EngineCalls, EngineEvent, EngineSetup, PromptSetup } from './protocol.ts';
import { sequenceRequest } from './sequence-text.ts';
import { openThread } from './thread.ts';

/** How long its threads may take. */
export type LocalLimits = {
  /** ms that one prompt may take */
  readonly promptTimeoutMs: number;
  /** ms that the thread which generates may be silent */
  readonly engineTimeoutMs: number;
  readonly logger: Pick<Logger, 'error'>;
};

/**
 * The policy on this machine: one thread makes prompts, one generates, and HTTP waits for neither.
 * Resolves when the model is loaded; rejects when it cannot be.
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
  failed.catch(() => {}); // it may fail before anyone watches
  return {
    name: 'local',
    report: engine.report,
    hasVersions: true,
    generate: async (request, listener, signal) => {
      const prompt = await prompts.call('prompt', request, { signal });
      signal.throwIfAborted();
      const onEvent = (event: unknown) => {
        const told = event as EngineEvent;
        if (told.kind === 'started')
          listener.onStart({ ...told.started, promptTokens: prompt.promptIds.length });
        else listener.onChunk(told.chunk, told.choice);
      };
      const asked = { ...sequenceRequest(request, prompt), choices: request.choices };
      return engine.call('generate', asked, { onEvent, signal });
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
