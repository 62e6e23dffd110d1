import type { Generated } from '../../generation.ts';

export type UpstreamFinish = Pick<Generated, 'finishReason' | 'engineFinishReason'>;

/** Characters of an engine's finish reason that an event records. */
const MOST_CHARACTERS = 100;

/** Printable ASCII only, since terminals show it. */
const printable = (reason: string): string => reason.slice(0, MOST_CHARACTERS).replace(/[^ -~]/g, '?');

const known: Readonly<Record<string, Generated['finishReason']>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  abort: 'aborted', // vLLM and SGLang: aborted on their side
  error: 'aborted',
};

/**
 * How an answer ended, by the engine's finish reason. vLLM ends a call of a named tool with `stop`, where agents expect
 * `tool_calls`. An unknown reason (such as vLLM's `repetition`) is kept. The answer then counts as complete, since no API
 * has a value for it, and does not train.
 */
export function upstreamFinish(reason: string, hasCalls: boolean): UpstreamFinish {
  const finishReason = Object.hasOwn(known, reason) ? known[reason] : undefined;
  if (finishReason === 'stop' && hasCalls) return { finishReason: 'tool_calls' };
  if (finishReason !== undefined) return { finishReason };
  return { finishReason: hasCalls ? 'tool_calls' : 'stop', engineFinishReason: printable(reason) };
}

/** Why an answer with this end does not train; undefined if it may. */
export const untrainableFinish = ({ engineFinishReason }: UpstreamFinish): string | undefined =>
  engineFinishReason === undefined ? undefined : 'unknown-finish-reason';
