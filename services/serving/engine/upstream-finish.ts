import type { Generated } from './engine.ts';

export type UpstreamFinish = Pick<Generated, 'finishReason' | 'engineFinishReason'>;

/** Characters of an engine's word that a fact holds. */
const WORD = 100;

/** It is shown in terminals. */
const plain = (word: string): string => word.slice(0, WORD).replace(/[^ -~]/g, '?');

const known: Readonly<Record<string, Generated['finishReason']>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  abort: 'aborted', // vLLM and SGLang: the answer was cut off on their side
  error: 'aborted',
};

/**
 * How an answer ended, by the engine's word for it. One that nobody here knows (vLLM's `repetition`, say) is
 * kept, and the answer is told as a whole one, since no API has a word for it; what it means is not known, so
 * it does not train.
 */
export function upstreamFinish(word: string, hasCalls: boolean): UpstreamFinish {
  const finishReason = Object.hasOwn(known, word) ? known[word] : undefined;
  if (finishReason !== undefined) return { finishReason };
  return { finishReason: hasCalls ? 'tool_calls' : 'stop', engineFinishReason: plain(word) };
}

/** Why an answer that ended so does not train; undefined: its end does not keep it from that. */
export const untrainableFinish = ({ engineFinishReason }: UpstreamFinish): string | undefined =>
  engineFinishReason === undefined ? undefined : 'unknown-finish-reason';
