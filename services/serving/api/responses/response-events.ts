import type { ToolCall } from '../../../../shared/events/chat-message.ts';
import type { ServiceError } from '../../../../shared/runtime/errors.ts';
import type { FinishedAnswer } from '../../answer/answer.ts';
import type { Omission } from '../../answer/mark.ts';
import { sequentialCalls } from '../../decoding/sequential-calls.ts';
import type { AnswerChunk, CallPart } from '../../generation.ts';
import { clientMessage } from '../../http/error-body.ts';
import type { Frame } from '../../http/event-stream.ts';
import { withholdLeadingSpace } from '../leading-space.ts';
import { createStreamedItems } from './response-items.ts';
import { endOf, lastItemStatus, responseEnd, type responseHead } from './response-parts.ts';
import type { Namespaces } from './tools.ts';

type Options = { readonly namespaces?: Namespaces; readonly ignored?: readonly Omission[] };

/** The events of a streamed response in OpenAI's order: one item after another. */
export function responseEvents(
  head: ReturnType<typeof responseHead>,
  { namespaces = new Map(), ignored = [] }: Options = {},
) {
  let sequence = 0;
  let hasBegun = false;
  const leadingSpace = withholdLeadingSpace();
  /** Ids of the calls sent so far. */
  const calls = new Set<string>();
  const sequential = sequentialCalls();

  const frame = (type: string, data: object): Frame => ({
    event: type,
    data: { type, sequence_number: sequence++, ...data },
  });
  const items = createStreamedItems({ answerId: head.id, namespaces, frame });
  const sendText = (kind: 'reasoning' | 'message', piece: string): readonly Frame[] => [
    ...(items.isOpen(kind) ? [] : items.begin(kind)),
    ...items.add(piece),
  ];
  const sendAnswerText = (piece: string): readonly Frame[] => {
    const text = leadingSpace.next(piece);
    return text === '' ? [] : sendText('message', text);
  };
  const callPart = ({ id, name, arguments: args }: CallPart): readonly Frame[] => {
    calls.add(id);
    return [...(name === undefined ? [] : items.begin('call', { call_id: id, name })), ...items.add(args)];
  };
  /** A whole call, unless its parts were already sent. */
  const wholeCall = ({ id = '', function: { name, arguments: args } }: ToolCall): readonly Frame[] =>
    calls.has(id) ? [] : callPart({ id, name, arguments: args });

  const show = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): readonly Frame[] => [
    ...(reasoning === '' ? [] : sendText('reasoning', reasoning)),
    ...sendAnswerText(text),
    ...callParts.flatMap(callPart),
    ...toolCalls.flatMap(wholeCall),
  ];

  const first = (): readonly Frame[] => {
    if (hasBegun) return [];
    hasBegun = true;
    return [frame('response.created', { response: head }), frame('response.in_progress', { response: head })];
  };

  return {
    /** Nothing if these events were sent before. */
    first,
    /**
     * Known events without news: Codex limits the time between two events and does not count comments, and some clients
     * refuse events that they do not know, such as OpenAI's undocumented `keepalive`.
     */
    waiting: (): readonly Frame[] => {
      if (!hasBegun) return first();
      return items.hasOpen() ? items.add('') : [frame('response.in_progress', { response: head })];
    },
    next: (chunk: AnswerChunk): readonly Frame[] => sequential.next(chunk).flatMap(show),
    last: (finished: FinishedAnswer): readonly Frame[] => {
      const end = endOf(finished, ignored);
      const remaining = [
        ...sequential.rest().flatMap(show),
        ...(leadingSpace.rest() === '' || calls.size > 0 ? [] : sendText('message', leadingSpace.rest())),
        ...items.close(lastItemStatus(end)),
      ];
      const response = { ...head, ...responseEnd(end, items.output) };
      return [...remaining, frame(`response.${response.status}`, { response })];
    },
    /** A response that fails was created, even if its answer never began. */
    failure: ({ status, code, message }: ServiceError): readonly Frame[] => {
      const error = { code: failureCode(status, code), message: clientMessage({ status, message }) };
      const response = { ...head, status: 'failed', output: items.output, error };
      return [...first(), frame('response.failed', { response })];
    },
  };
}

/** The code of a refused prompt that does not fit, as in OpenAI's streams. */
export const CONTEXT_FULL = 'context_length_exceeded';

/** One of the API's error codes for a response. */
const failureCode = (status: number, code: string): string => {
  if (status >= 500) return 'server_error';
  if (code === CONTEXT_FULL) return code;
  return status === 429 ? 'rate_limit_exceeded' : 'invalid_prompt';
};
