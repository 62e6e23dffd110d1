import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolCall } from '../../../shared/events/chat-message.ts';
import type { CallPart } from '../engine/engine.ts';
import { isWhole, type JsonState, jsonStart, nextJson } from './json-state.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

const given = z.union([z.looseObject({}), z.string()]).optional();
const Call = z.object({ name: z.string().min(1), arguments: given, parameters: given });

export type ToolCallPiece = {
  readonly text: string;
  /** Calls that are whole now, or that nothing more comes of. */
  readonly toolCalls: readonly ToolCall[];
  /** What has come of calls meanwhile; a call that comes in one piece has none. */
  readonly callParts?: readonly CallPart[];
  /** The answer is over: what comes after is not the client's to see. */
  readonly ends?: true;
};

export type ToolCallParser = {
  readonly push: (text: string) => ToolCallPiece;
  /** What was held back at the end. A call whose arguments had not begun is text. */
  readonly flush: () => ToolCallPiece;
};

export const newCallId = (): string => `call_${randomBytes(9).toString('hex')}`;

/** A call up to its arguments, written in the order that templates teach. */
const HEAD =
  /^<tool_call>\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)+")\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;
const TAIL = /^\s*\}\s*<\/tool_call>/;
const SHORTEST_TAIL = `}${CLOSE}`;

/** A call whose arguments are coming, or have come and are not closed yet. */
type OpenCall = { readonly id: string; readonly name: string; json: JsonState; written: string };

/**
 * Takes `<tool_call>{"name": .., "arguments": {..}}</tool_call>` blocks, as Qwen's and Hermes' templates
 * teach them, out of a stream of text. Arguments are told as they come, and end where they stop being JSON;
 * a block that does not get as far stays text.
 */
export function createToolCallParser(): ToolCallParser {
  let held = '';
  let open: OpenCall | undefined;
  const take = (): ToolCallPiece => {
    let text = '';
    const toolCalls: ToolCall[] = [];
    const callParts: CallPart[] = [];
    const piece = () => ({ text, toolCalls, ...(callParts.length === 0 ? {} : { callParts }) });
    for (;;) {
      if (open !== undefined && !isWhole(open.json)) {
        const { part, isOver } = readArguments(open, held);
        if (part !== '') callParts.push({ id: open.id, arguments: part });
        held = held.slice(part.length);
        if (!isOver) return piece();
        toolCalls.push(asCall(open));
        if (!isWhole(open.json)) open = undefined;
        continue;
      }
      if (open !== undefined) {
        const tail = TAIL.exec(held)?.[0];
        if (tail === undefined && mayBecomeTail(held)) return piece();
        held = held.slice(tail?.length ?? 0);
        open = undefined;
        continue;
      }
      const at = held.indexOf(OPEN);
      if (at === -1) {
        const keep = beginningAtEnd(held);
        text += held.slice(0, held.length - keep);
        held = held.slice(held.length - keep);
        return piece();
      }
      text += held.slice(0, at);
      held = held.slice(at);
      const head = HEAD.exec(held);
      const name = head === null ? undefined : nameOf(head[1]!);
      if (name !== undefined) {
        open = { id: newCallId(), name, json: jsonStart, written: '' };
        callParts.push({ id: open.id, name, arguments: '' });
        held = held.slice(head![0].length);
        continue;
      }
      const close = held.indexOf(CLOSE);
      if (close === -1) return piece();
      const block = held.slice(0, close + CLOSE.length);
      const call = callOf(block.slice(OPEN.length, close));
      if (call === undefined) text += block;
      else toolCalls.push(call);
      held = held.slice(block.length);
    }
  };
  return {
    push: (text) => {
      held += text;
      return take();
    },
    flush: () => {
      const rest = open === undefined ? held : ''; // of a call that has ended: a part of its end
      const toolCalls = open === undefined || isWhole(open.json) ? [] : [asCall(open)];
      held = '';
      open = undefined;
      return { text: rest, toolCalls };
    },
  };
}

/** As much of the text as belongs to the call's arguments; over: they are whole, or what follows is no JSON. */
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

function nameOf(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}

function mayBecomeTail(text: string): boolean {
  const compact = text.replaceAll(/\s/g, '');
  return compact.length < SHORTEST_TAIL.length && SHORTEST_TAIL.startsWith(compact);
}

/** Length of the longest end of the text that begins a block. */
function beginningAtEnd(text: string): number {
  for (let length = Math.min(OPEN.length - 1, text.length); length > 0; length--) {
    if (OPEN.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
}

/** The call that a JSON text is: a name, with its arguments under either of their names. */
export function callOf(block: string): ToolCall | undefined {
  let json: unknown;
  try {
    json = JSON.parse(block);
  } catch {
    return undefined;
  }
  const call = Call.safeParse(json);
  if (!call.success) return undefined;
  const { name, parameters = {}, arguments: given = parameters } = call.data;
  return {
    id: newCallId(),
    type: 'function',
    function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
  };
}
