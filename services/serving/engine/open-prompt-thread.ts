import type { Logger } from '../../../shared/service/logger.ts';
import type { PromptCalls, PromptSetup } from './protocol.ts';
import { openWatchedThread, type WatchedThread } from './watched-thread.ts';

/** ms for a tokenizer and a chat template to be read */
const START_MS = 120_000;
/** A prompt takes far less; one that takes more ends its thread, not the process. */
const HEAP_MIB = 2_048;

/** Starts the thread that makes prompts. @param callMs that one prompt may take */
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
