import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolCall } from '../../../shared/events/chat-message.ts';
import { defined } from '../../../shared/lang/defined.ts';
import { parseJson } from '../../../shared/lang/json.ts';
import type { CallPart } from '../generation.ts';
import { isWhole, type JsonState, jsonStart, nextJson } from './json-state.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

const argumentsField = z.union([z.looseObject({}), z.string()]).optional();
const Call = z.object({ name: z.string().min(1), arguments: argumentsField, parameters: argumentsField });

export type ToolCallPiece = {
  readonly text: string;
  /** Calls that are complete, or were broken off. */
  readonly toolCalls: readonly ToolCall[];
  /** New pieces of calls. A call that arrives in one piece has none. */
  readonly callParts?: readonly CallPart[];
  /** The answer ends here; the client does not see later text. */
  readonly ends?: true;
};

export type ToolCallParser = {
  readonly push: (text: string) => ToolCallPiece;
  /** The text withheld so far. A call whose arguments have not begun is text. */
  readonly flush: () => ToolCallPiece;
};

export const newCallId = (): string => `call_${randomBytes(9).toString('hex')}`;

/** A call up to its arguments, in the order that templates describe. */
const HEAD =
  /^<tool_call>\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)+")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;
const TAIL = /^\s*\}\s*<\/tool_call>/;
const SHORTEST_TAIL = `}${CLOSE}`;

/** A call whose arguments have begun and whose closing mark has not been read. */
type OpenCall = { readonly id: string; readonly name: string; json: JsonState; written: string };

/**
 * Extracts `<tool_call>{"name": .., "arguments": {..}}</tool_call>` blocks, as Qwen and Hermes write them, from a
 * stream of text. Arguments are passed on as they arrive, and end where they stop being JSON. A block without
 * arguments stays text.
 */
export function createToolCallParser(): ToolCallParser {
  let withheld = '';
  let open: OpenCall | undefined;
  const take = (): ToolCallPiece => {
    let text = '';
    const toolCalls: ToolCall[] = [];
    const callParts: CallPart[] = [];
    const piece = () => ({
      text,
      toolCalls,
      ...defined({ callParts: callParts.length === 0 ? undefined : callParts }),
    });
    for (;;) {
      if (open !== undefined && !isWhole(open.json)) {
        const { part, isOver } = readArguments(open, withheld);
        if (part !== '') callParts.push({ id: open.id, arguments: part });
        withheld = withheld.slice(part.length);
        if (!isOver) return piece();
        toolCalls.push(asCall(open));
        if (!isWhole(open.json)) open = undefined;
        continue;
      }
      if (open !== undefined) {
        const tail = TAIL.exec(withheld)?.[0];
        if (tail === undefined && mayBecomeTail(withheld)) return piece();
        withheld = withheld.slice(tail?.length ?? 0);
        open = undefined;
        continue;
      }
      const at = withheld.indexOf(OPEN);
      if (at === -1) {
        const keep = beginningAtEnd(withheld);
        text += withheld.slice(0, withheld.length - keep);
        withheld = withheld.slice(withheld.length - keep);
        return piece();
      }
      text += withheld.slice(0, at);
      withheld = withheld.slice(at);
      const head = HEAD.exec(withheld);
      const name = head === null ? undefined : nameOf(head[1]!);
      if (name !== undefined) {
        open = { id: newCallId(), name, json: jsonStart, written: '' };
        callParts.push({ id: open.id, name, arguments: '' });
        withheld = withheld.slice(head![0].length);
        continue;
      }
      const close = withheld.indexOf(CLOSE);
      if (close === -1) return piece();
      const block = withheld.slice(0, close + CLOSE.length);
      const call = callOf(block.slice(OPEN.length, close));
      if (call === undefined) text += block;
      else toolCalls.push(call);
      withheld = withheld.slice(block.length);
    }
  };
  return {
    push: (text) => {
      withheld += text;
      return take();
    },
    flush: () => {
      const text = open === undefined ? withheld : ''; // else a part of the closing mark
      const toolCalls = open === undefined || isWhole(open.json) ? [] : [asCall(open)];
      withheld = '';
      open = undefined;
      return { text, toolCalls };
    },
  };
}

/** The part of the text that continues the arguments; `isOver`: they are complete, or the rest is not JSON. */
function readArguments(call: OpenCall, text: string): { readonly part: string; readonly isOver: boolean } {
  let at = 0;
  let isBroken = false;
  for (; at < text.length && !isWhole(call.json); at++) {
    const next = nextJson(call.json, text[at]!);
    isBroken = next === undefined;
    if (next === undefined) break;
    call.json = next;
  }
  const part = text.slice(0, at);
  call.written += part;
  return { part, isOver: isBroken || isWhole(call.json) };
}

const asCall = ({ id, name, written }: OpenCall): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: written },
});

const nameOf = (json: string): string | undefined => parseJson(json) as string | undefined;

function mayBecomeTail(text: string): boolean {
  const compact = text.replaceAll(/\s/g, '');
  return compact.length < SHORTEST_TAIL.length && SHORTEST_TAIL.startsWith(compact);
}

/** Length of the longest end of the text that may begin a block. */
function beginningAtEnd(text: string): number {
  for (let length = Math.min(OPEN.length - 1, text.length); length > 0; length--) {
    if (OPEN.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** Parses a call: a name, with `arguments` or `parameters`. */
export function callOf(block: string): ToolCall | undefined {
  const call = Call.safeParse(parseJson(block));
  if (!call.success) return undefined;
  const { name, parameters = {}, arguments: callArguments = parameters } = call.data;
  return {
    id: newCallId(),
    type: 'function',
    function: {
      name,
      arguments: typeof callArguments === 'string' ? callArguments : JSON.stringify(callArguments),
    },
  };
}
