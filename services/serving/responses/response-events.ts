import type { ToolCall } from '../../../shared/events/chat-message.ts';
import type { ServiceError } from '../../../shared/service/errors.ts';
import { callsInTurn } from '../chat/calls-in-turn.ts';
import type { Finished } from '../chat/completion.ts';
import type { Omission } from '../chat/omissions.ts';
import type { AnswerChunk, CallPart } from '../engine/engine.ts';
import { toldMessage } from '../error-body.ts';
import type { Frame } from '../routes/event-stream.ts';
import {
  callItem,
  callPlace,
  endOf,
  type ItemStatus,
  itemId,
  lastItemStatus,
  messageItem,
  reasoningItem,
  reasoningPart,
  responseEnd,
  type responseHead,
  textPart,
} from './response-parts.ts';
import { calledAs, type Namespaces } from './tools.ts';

type Open = {
  readonly kind: 'reasoning' | 'message' | 'call';
  readonly index: number;
  readonly id: string;
  /** so far */
  readonly text: string;
  readonly call?: { readonly call_id: string; readonly name: string };
};

const kinds = { reasoning: 'rs', message: 'msg', call: 'fc' } as const;
const words = {
  reasoning: { event: 'response.reasoning_text', part: reasoningPart, item: reasoningItem },
  message: { event: 'response.output_text', part: textPart, item: messageItem },
} as const;

type Options = { readonly namespaces?: Namespaces; readonly ignored?: readonly Omission[] };

/** The events of a streamed response, in OpenAI's order: its items come one after the other. */
export function responseEvents(
  head: ReturnType<typeof responseHead>,
  { namespaces = new Map(), ignored = [] }: Options = {},
) {
  let sequence = 0;
  let open: Open | undefined;
  const output: object[] = [];
  /** Items of a kind so far. */
  const begun = { reasoning: 0, message: 0, call: 0 };
  /** White space before any words: beside calls alone it is no text. */
  let held = '';
  let hasText = false;
  /** Ids of the calls told so far. */
  const calls = new Set<string>();
  const inTurn = callsInTurn();

  const frame = (type: string, data: object): Frame => ({
    event: type,
    data: { type, sequence_number: sequence++, ...data },
  });
  const place = ({ id, index }: Open) => ({ item_id: id, output_index: index });

  const begin = (kind: Open['kind'], call?: Open['call']): readonly Frame[] => {
    const before = close();
    const index = output.length;
    const order = call === undefined ? begun[kind]++ : callPlace(call.call_id);
    const id = itemId(kinds[kind], head.id, order);
    open = { kind, index, id, text: '', ...(call === undefined ? {} : { call }) };
    const item =
      kind === 'call'
        ? callItem(id, 'in_progress', { ...call!, arguments: '' }, namespaces)
        : words[kind].item(id, 'in_progress', []);
    const added = frame('response.output_item.added', { output_index: index, item });
    if (kind === 'call') return [...before, added];
    const part = words[kind].part('');
    return [
      ...before,
      added,
      frame('response.content_part.added', { ...place(open), content_index: 0, part }),
    ];
  };
  const add = (given: string): readonly Frame[] => {
    open = { ...open!, text: open!.text + given };
    if (open.kind === 'call')
      return [frame('response.function_call_arguments.delta', { ...place(open), delta: given })];
    const more = open.kind === 'message' ? { logprobs: [] } : {};
    return [
      frame(`${words[open.kind].event}.delta`, { ...place(open), content_index: 0, delta: given, ...more }),
    ];
  };
  function close(status: ItemStatus = 'completed'): readonly Frame[] {
    if (open === undefined) return [];
    const { kind, id, text, index, call } = open;
    const at = { ...place(open), content_index: 0 };
    const ended: Frame[] = [];
    let item: object;
    if (kind === 'call') {
      item = callItem(id, status, { ...call!, arguments: text }, namespaces);
      const { name } = calledAs(namespaces, call!.name);
      ended.push(frame('response.function_call_arguments.done', { ...place(open), name, arguments: text }));
    } else {
      const part = words[kind].part(text);
      item = words[kind].item(id, status, [part]);
      const more = kind === 'message' ? { logprobs: [] } : {};
      ended.push(frame(`${words[kind].event}.done`, { ...at, text, ...more }));
      ended.push(frame('response.content_part.done', { ...at, part }));
    }
    output.push(item);
    open = undefined;
    return [...ended, frame('response.output_item.done', { output_index: index, item })];
  }
  const say = (kind: 'reasoning' | 'message', given: string): readonly Frame[] => [
    ...(open?.kind === kind ? [] : begin(kind)),
    ...add(given),
  ];
  const sayText = (given: string): readonly Frame[] => {
    held += given;
    if (!hasText && held.trim() === '') return [];
    hasText = true;
    const text = held;
    held = '';
    return text === '' ? [] : say('message', text);
  };
  const callPart = ({ id, name, arguments: given }: CallPart): readonly Frame[] => {
    calls.add(id);
    return [...(name === undefined ? [] : begin('call', { call_id: id, name })), ...add(given)];
  };
  /** A whole call, unless it came in parts. */
  const wholeCall = ({ id = '', function: { name, arguments: given } }: ToolCall): readonly Frame[] =>
    calls.has(id) ? [] : callPart({ id, name, arguments: given });

  const show = ({ text, reasoning = '', callParts = [], toolCalls = [] }: AnswerChunk): readonly Frame[] => [
    ...(reasoning === '' ? [] : say('reasoning', reasoning)),
    ...sayText(text),
    ...callParts.flatMap(callPart),
    ...toolCalls.flatMap(wholeCall),
  ];

  return {
    first: (): readonly Frame[] => [
      frame('response.created', { response: head }),
      frame('response.in_progress', { response: head }),
    ],
    next: (chunk: AnswerChunk): readonly Frame[] => inTurn.next(chunk).flatMap(show),
    last: (finished: Finished): readonly Frame[] => {
      const end = endOf(finished, ignored);
      const rest = [
        ...inTurn.rest().flatMap(show),
        ...(held === '' || calls.size > 0 ? [] : say('message', held)),
        ...close(lastItemStatus(end)),
      ];
      const response = { ...head, ...responseEnd(end, output) };
      return [...rest, frame(`response.${response.status}`, { response })];
    },
    failure: ({ status, message }: ServiceError): Frame => {
      const error = { code: failureCode(status), message: toldMessage({ status, message }) };
      return frame('response.failed', { response: { ...head, status: 'failed', output, error } });
    },
  };
}

/** Of those that the API has for a response. */
const failureCode = (status: number): string => {
  if (status >= 500) return 'server_error';
  return status === 429 ? 'rate_limit_exceeded' : 'invalid_prompt';
};
