import { isObject } from '../../../../shared/lang/json.ts';
import type { UpstreamChunk } from './chunk.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * A fast check for the frames that arrive with every token: true only if the schema would accept the frame
 * unchanged. Unknown members are ignored. If in doubt, false: then the schema decides.
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

const isListOrNone = (list: unknown, isValid: (item: unknown) => boolean): boolean =>
  list == null || (Array.isArray(list) && list.every(isValid));

const isTextOrNone = (value: unknown): boolean => value == null || typeof value === 'string';
