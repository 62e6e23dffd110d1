import { isInText, isWhole, type JsonState, jsonStart, nextJson } from './json-state.ts';
import type { ToolCallForm } from './tool-call-form.ts';
import { newCallId, type ToolCallParser, type ToolCallPiece } from './tool-call-parser.ts';

/**
 * An answer that has to be one call of one of these tools. Its beginning stands in the prompt, since nobody
 * sampled it; what follows is the name, where there are several, and the arguments, an object.
 */
export type ForcedCall = {
  /** What is written of each tool after the beginning, before its arguments. */
  readonly heads: ReadonlyMap<string, string>;
  /** Up to where the model goes on; a space that it writes next is its own. */
  readonly beginning: string;
  readonly start: CallState;
  readonly next: (state: CallState, letter: string) => CallState | undefined;
};

/** How much of the call was written: of its name and what follows it, or of its arguments. */
export type CallState =
  | { readonly kind: 'name'; readonly written: string }
  | { readonly kind: 'arguments'; readonly name: string; readonly json: JsonState };

/** Texts that no tool begins with and that are remembered all the same. */
const MOST_BEGINNINGS = 200_000;

/** @param names not empty */
export function forcedCall(form: ToolCallForm, names: readonly string[]): ForcedCall {
  const key = form === 'tagged' ? 'arguments' : 'parameters';
  const opening = form === 'tagged' ? '<tool_call>\n{"name":' : '{"name":';
  const named = names.map((name) => ({ name, written: `${JSON.stringify(name)}, "${key}":` }));
  const argumentsOf = (name: string): CallState => ({ kind: 'arguments', name, json: jsonStart });
  const [only] = named.length === 1 ? named : [];
  /** Those that begin with a text, by that text: each step looks at those of the step before. */
  const beginning = new Map([['', named]]);
  const begunWith = (before: string, letter: string): typeof named => {
    const written = before + letter;
    const known = beginning.get(written);
    if (known !== undefined) return known;
    const found = beginning.get(before)!.filter((one) => one.written[before.length] === letter);
    if (found.length > 0 || beginning.size < MOST_BEGINNINGS) beginning.set(written, found);
    return found;
  };
  return {
    heads: new Map(named.map(({ name, written }) => [name, only === undefined ? written : ''])),
    beginning: only === undefined ? opening : `${opening} ${only.written}`,
    start: only === undefined ? { kind: 'name', written: '' } : argumentsOf(only.name),
    next: (state, letter) => {
      if (state.kind === 'arguments') return nextArgument(state, letter);
      if (state.written === '' && letter === ' ') return state;
      const written = state.written + letter;
      const [found] = begunWith(state.written, letter);
      if (found === undefined) return undefined;
      return found.written === written ? argumentsOf(found.name) : { kind: 'name', written };
    },
  };
}

function nextArgument(state: CallState & { kind: 'arguments' }, letter: string): CallState | undefined {
  const { json } = state;
  if (json === jsonStart && letter !== '{' && letter !== ' ') return undefined;
  const next = nextJson(json, letter);
  return next === undefined ? undefined : { ...state, json: next };
}

const isDone = (state: CallState): boolean => state.kind === 'arguments' && isWhole(state.json);

/** What a token that ends the arguments may hold of what closes the call. */
const CLOSING = /^\s*\}?\s*$/;

/** Which texts may come next in a forced call, where the answer stands. */
export type CallGuard = {
  readonly accepts: (text: string) => boolean;
  /** Goes on with a text that was accepted. */
  readonly take: (text: string) => void;
};

/** White space is never followed by more of it outside of texts: a model can go on with that for ever. */
export function createCallGuard(call: ForcedCall): CallGuard {
  let state = call.start;
  let wasBlank = false;
  const after = (text: string): CallState | undefined => {
    let next: CallState | undefined = state;
    for (let at = 0; at < text.length; at++) {
      if (isDone(next)) return CLOSING.test(text.slice(at)) ? next : undefined;
      next = call.next(next, text[at]!);
      if (next === undefined) return undefined;
    }
    return next;
  };
  const isBlank = (text: string) =>
    text.trim() === '' && !(state.kind === 'arguments' && isInText(state.json));
  return {
    accepts: (text) => text !== '' && !(wasBlank && isBlank(text)) && after(text) !== undefined,
    take: (text) => {
      wasBlank = isBlank(text);
      state = after(text) ?? state;
    },
  };
}

/** Takes the forced call out of the text after its beginning; the answer ends with the call. */
export function createForcedCallParser(call: ForcedCall): ToolCallParser {
  const id = newCallId();
  let state = call.start;
  let written = '';
  let isTold = false;
  let isOver = false;
  const asCall = (name: string) =>
    ({ id, type: 'function', function: { name, arguments: written } }) as const;
  return {
    push: (text): ToolCallPiece => {
      if (isOver) return { text: '', toolCalls: [], ends: true };
      const before = written.length;
      for (let at = 0; at < text.length && !isDone(state); at++) {
        const wasArguments = state.kind === 'arguments';
        state = call.next(state, text[at]!) ?? state;
        if (wasArguments && (written !== '' || text[at] === '{')) written += text[at];
      }
      if (state.kind === 'name') return { text: '', toolCalls: [] };
      const part = { id, ...(isTold ? {} : { name: state.name }), arguments: written.slice(before) };
      const isNew = !isTold || part.arguments !== '';
      isTold = true;
      isOver = isDone(state);
      return {
        text: '',
        toolCalls: isOver ? [asCall(state.name)] : [],
        ...(isNew ? { callParts: [part] } : {}),
        ...(isOver ? { ends: true } : {}),
      };
    },
    flush: () => ({
      text: '',
      toolCalls: isTold && state.kind === 'arguments' && !isOver ? [asCall(state.name)] : [],
    }),
  };
}
