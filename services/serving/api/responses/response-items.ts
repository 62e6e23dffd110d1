import { defined } from '../../../../shared/lang/defined.ts';
import type { Frame } from '../../http/event-stream.ts';
import {
  callItem,
  callPlace,
  type ItemStatus,
  itemId,
  messageItem,
  reasoningItem,
  reasoningPart,
  textPart,
} from './response-parts.ts';
import { clientNames, type Namespaces } from './tools.ts';

type Open = {
  readonly kind: 'reasoning' | 'message' | 'call';
  readonly index: number;
  readonly id: string;
  /** text so far */
  readonly text: string;
  readonly call?: { readonly call_id: string; readonly name: string };
};

const kinds = { reasoning: 'rs', message: 'msg', call: 'fc' } as const;
const textKinds = {
  reasoning: { event: 'response.reasoning_text', part: reasoningPart, item: reasoningItem },
  message: { event: 'response.output_text', part: textPart, item: messageItem },
} as const;

type Options = {
  readonly answerId: string;
  readonly namespaces: Namespaces;
  /** Creates an event with the next sequence number. */
  readonly frame: (type: string, data: object) => Frame;
};

/** The output items of a streamed response, one after another, and their events. */
export function createStreamedItems({ answerId, namespaces, frame }: Options) {
  let open: Open | undefined;
  const output: object[] = [];
  /** Number of items of each kind so far. */
  const begun = { reasoning: 0, message: 0, call: 0 };
  const place = ({ id, index }: Open) => ({ item_id: id, output_index: index });

  const begin = (kind: Open['kind'], call?: Open['call']): readonly Frame[] => {
    const closing = close();
    const index = output.length;
    const order = call === undefined ? begun[kind]++ : callPlace(call.call_id);
    const id = itemId(kinds[kind], answerId, order);
    open = { kind, index, id, text: '', ...defined({ call }) };
    const item =
      kind === 'call'
        ? callItem(id, 'in_progress', { ...call!, arguments: '' }, namespaces)
        : textKinds[kind].item(id, 'in_progress', []);
    const added = frame('response.output_item.added', { output_index: index, item });
    if (kind === 'call') return [...closing, added];
    const part = textKinds[kind].part('');
    return [
      ...closing,
      added,
      frame('response.content_part.added', { ...place(open), content_index: 0, part }),
    ];
  };
  const add = (piece: string): readonly Frame[] => {
    open = { ...open!, text: open!.text + piece };
    if (open.kind === 'call')
      return [frame('response.function_call_arguments.delta', { ...place(open), delta: piece })];
    const extra = open.kind === 'message' ? { logprobs: [] } : {};
    return [
      frame(`${textKinds[open.kind].event}.delta`, {
        ...place(open),
        content_index: 0,
        delta: piece,
        ...extra,
      }),
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
      const { name } = clientNames(namespaces, call!.name);
      ended.push(frame('response.function_call_arguments.done', { ...place(open), name, arguments: text }));
    } else {
      const part = textKinds[kind].part(text);
      item = textKinds[kind].item(id, status, [part]);
      const extra = kind === 'message' ? { logprobs: [] } : {};
      ended.push(frame(`${textKinds[kind].event}.done`, { ...at, text, ...extra }));
      ended.push(frame('response.content_part.done', { ...at, part }));
    }
    output.push(item);
    open = undefined;
    return [...ended, frame('response.output_item.done', { output_index: index, item })];
  }
  return {
    /** Items that are complete. */
    output: output as readonly object[],
    hasOpen: (): boolean => open !== undefined,
    isOpen: (kind: Open['kind']): boolean => open?.kind === kind,
    begin,
    add,
    close,
  };
}
