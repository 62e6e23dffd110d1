import type { UpstreamChunk } from './upstream-chunk.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Whether the schema would find no fault in a frame: nearly all are of one kind, and there is one a token. What
 * else stands in such a frame stays in it, and nobody looks at it. False where in doubt: then the schema
 * decides.
 */
export function isPlainChunk(frame: unknown): frame is UpstreamChunk {
  if (!isObject(frame)) return false;
  const { error, model, prompt_token_ids: promptIds, usage, choices } = frame;
  return (
    error == null &&
    isTextOrNone(model) &&
    isIdsOrNone(promptIds) &&
    usage == null &&
    Array.isArray(choices) &&
    choices.every(isPlainChoice)
  );
}

const isPlainChoice = (choice: unknown): boolean =>
  isObject(choice) &&
  (choice.index === undefined || Number.isSafeInteger(choice.index)) &&
  isPlainDelta(choice.delta) &&
  isIdsOrNone(choice.token_ids) &&
  (choice.logprobs == null || arePlainLogProbs(choice.logprobs)) &&
  isTextOrNone(choice.finish_reason) &&
  choice.stop_reason == null;

const isPlainDelta = (delta: unknown): boolean =>
  isObject(delta) &&
  isTextOrNone(delta.content) &&
  isTextOrNone(delta.reasoning_content) &&
  isTextOrNone(delta.reasoning) &&
  delta.tool_calls == null;

const arePlainLogProbs = (logProbs: unknown): boolean =>
  isObject(logProbs) && isListOrNone(logProbs.content, isPlainEntry);

const isPlainEntry = (entry: unknown): boolean =>
  isPlainToken(entry) && isListOrNone((entry as Fields).top_logprobs, isPlainToken);

const isPlainToken = (entry: unknown): boolean =>
  isObject(entry) &&
  typeof entry.token === 'string' &&
  (entry.logprob == null || Number.isFinite(entry.logprob));

const isIdsOrNone = (ids: unknown): boolean =>
  isListOrNone(ids, (id) => Number.isSafeInteger(id) && (id as number) >= 0);

const isListOrNone = (list: unknown, isSound: (one: unknown) => boolean): boolean =>
  list == null || (Array.isArray(list) && list.every(isSound));

const isTextOrNone = (value: unknown): boolean => value == null || typeof value === 'string';

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
