import { defined } from '../../../shared/lang/defined.ts';
import { isWhole, type JsonState, jsonStart, nextJson } from './json-state.ts';
import type { ToolCallForm } from './tool-call-form.ts';
import { newCallId, type ToolCallParser, type ToolCallPiece } from './tool-call-parser.ts';

/**
 * An answer that must be one call of one of these tools. The prompt ends with the beginning of the call, so
 * that no token of it is sampled. The model writes the rest: the name, if there are several tools, and the
 * arguments, an object.
 */
type ForcedCall = {
  /** By tool: the text between `beginning` and the arguments; empty if there is only one tool. */
  readonly heads: ReadonlyMap<string, string>;
  /** The end of the prompt. Without a trailing space: the model may write one. */
  readonly beginning: string;
};

/** @param names not empty */
export function forcedCall(form: ToolCallForm, names: readonly string[]): ForcedCall {
  const key = form === 'tagged' ? 'arguments' : 'parameters';
  const opening = form === 'tagged' ? '<tool_call>\n{"name":' : '{"name":';
  const headOf = (name: string) => `${JSON.stringify(name)}, "${key}":`;
  const [first] = names;
  return names.length === 1
    ? { heads: new Map([[first!, '']]), beginning: `${opening} ${headOf(first!)}` }
    : { heads: new Map(names.map((name) => [name, headOf(name)])), beginning: opening };
}

/** The name that the model wrote, up to the arguments. */
const HEAD = /^ *("(?:[^"\\]|\\.)*"), "(?:arguments|parameters)":/;

/** Takes the forced call out of the text after its beginning; the answer ends with the call. */
export function createForcedCallParser({ heads }: ForcedCall): ToolCallParser {
  const id = newCallId();
  const [[onlyName, onlyHead] = []] = heads;
  let name = onlyHead === '' ? onlyName : undefined;
  let head = '';
  let json: JsonState = jsonStart;
  let written = '';
  let isNameShown = false;
  const asCall = (called: string) =>
    ({ id, type: 'function', function: { name: called, arguments: written } }) as const;
  /** The text that follows the name; undefined while the name is incomplete. */
  const afterHead = (text: string): string | undefined => {
    if (name !== undefined) return text;
    head += text;
    const match = HEAD.exec(head);
    if (match === null) return undefined;
    name = JSON.parse(match[1]!) as string;
    return head.slice(match[0].length);
  };
  const readArguments = (text: string): string => {
    const before = written.length;
    for (let at = 0; at < text.length && !isWhole(json); at++) {
      json = nextJson(json, text[at]!) ?? json;
      if (written !== '' || text[at] === '{') written += text[at];
    }
    return written.slice(before);
  };
  return {
    push: (text): ToolCallPiece => {
      if (isWhole(json)) return { text: '', toolCalls: [], ends: true };
      const rest = afterHead(text);
      if (rest === undefined || name === undefined) return { text: '', toolCalls: [] };
      const part = {
        id,
        ...defined({ name: isNameShown ? undefined : name }),
        arguments: readArguments(rest),
      };
      const isNews = !isNameShown || part.arguments !== '';
      isNameShown = true;
      const ends = isWhole(json);
      return {
        text: '',
        toolCalls: ends ? [asCall(name)] : [],
        ...defined({ callParts: isNews ? [part] : undefined, ends: ends ? true : undefined }),
      };
    },
    flush: () => ({
      text: '',
      toolCalls: isNameShown && name !== undefined && !isWhole(json) ? [asCall(name)] : [],
    }),
  };
}
