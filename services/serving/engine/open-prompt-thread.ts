import type { Logger } from '../../../shared/runtime/logger.ts';
import type { PromptCalls, PromptSetup } from './local/protocol.ts';
import { openWatchedThread, type WatchedThread } from './watched-thread.ts';

/** ms to read a tokenizer and a chat template */
const START_MS = 120_000;
/** A prompt that needs more memory ends the thread, but not the process. Usual prompts need far less. */
const HEAP_MIB = 2_048;

/** Starts the thread that makes prompts. @param callMs ms that one prompt may take */
export const openPromptThread = (
  setup: PromptSetup,
  callMs: number,
  logger: Pick<Logger, 'error'>,
): Promise<WatchedThread<PromptCalls>> =>
  openWatchedThread<PromptCalls>(new URL('./prompt-thread.ts', import.meta.url), setup, {
    callMs,
    startMs: START_MS,
    heapMib: HEAP_MIB,
    logger,
  });
