import { prepareNativeEnvironment } from '../../../shared/policy/backend.ts';
import type { Engine } from './engine.ts';
import type { EngineCalls, EngineEvent, EngineSetup, PromptCalls, PromptSetup } from './protocol.ts';
import { sequenceRequest } from './sequence-text.ts';
import { openThread } from './thread.ts';

/**
 * The policy on this machine: one thread makes prompts, one generates, and HTTP waits for neither.
 * Resolves when the model is loaded; rejects when it cannot be.
 */
export async function openLocalEngine(setup: EngineSetup & PromptSetup): Promise<Engine> {
  prepareNativeEnvironment(setup.threads === undefined ? {} : { threads: setup.threads });
  const [prompts, engine] = await Promise.all([
    openThread<PromptCalls>(new URL('./prompt-thread.ts', import.meta.url), setup),
    openThread<EngineCalls>(new URL('./engine-thread.ts', import.meta.url), setup),
  ]);
  const failed = Promise.race([prompts.failed, engine.failed]);
  failed.catch(() => {}); // it may fail before anyone watches
  return {
    name: 'local',
    report: engine.report,
    hasVersions: true,
    generate: async (request, listener, signal) => {
      const prompt = await prompts.call('prompt', request);
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
    failed,
    close: async () => {
      await Promise.all([prompts.close(), engine.close()]);
    },
  };
}
