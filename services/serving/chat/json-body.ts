import { isUtf8 } from 'node:buffer';
import { type JsonText, rememberJson } from '../../../shared/chat/json-text.ts';
import { memberSpans, type Span } from '../../../shared/chat/member-spans.ts';
import { ServingError } from '../errors.ts';
import { hasMoreValues } from './json-values.ts';

/** Deeper JSON than this overflows the stack of whatever walks it later. */
const DEEPEST_JSON = 128;
/** Values of a body, those within others included: each costs whoever walks it. */
const MOST_VALUES = 250_000;
/** Some clients of Windows begin a text with it. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** Members of a body that has its parts remembered. */
const MOST_REMEMBERED = 256;
/** Bytes of a body whose parts are remembered as bytes: below, texts are quicker to put together. */
const LONG = 4096;

type Flaw = 'too deep' | 'sets a prototype';

/**
 * JSON that can be walked and copied without harm. Its lists and objects know the text that they were read from
 * (`jsonOnce`): what nothing changes is sent on and recorded as it was received.
 * @throws ServingError INVALID_JSON, also where a name in it could set a prototype; INVALID_REQUEST where it
 * nests too deeply
 */
export function parseJsonBody(received: Buffer): unknown {
  const body = withoutMark(received);
  const { value, text } = readJson(body);
  if (!isRecord(value) || !isModest(value)) return value;
  if (body.length >= LONG && isUtf8(body)) rememberBytes(value, spansInBytes(text, body.length), body);
  else for (const [name, { from, to }] of memberSpans(text)) remember(value, name, text.slice(from, to));
  return value;
}

/** A body that was read in another thread. */
export type ReadBody = {
  readonly value: unknown;
  /** Where the values of its members stand in its bytes. */
  readonly spans: readonly NamedSpan[];
};
type NamedSpan = Span & { readonly name: string };

/** The same of a long body, for another thread than the one that goes on with it: see `knowBytes`. */
export function readLongBody(received: Buffer): ReadBody {
  const body = withoutMark(received);
  const { value, text } = readJson(body);
  return {
    value,
    spans: isRecord(value) && isModest(value) && isUtf8(body) ? spansInBytes(text, body.length) : [],
  };
}

/** The value of a body that was read elsewhere; its lists and objects know the bytes that they were read from. */
export function knowBytes({ value, spans }: ReadBody, received: Buffer): unknown {
  if (isRecord(value)) rememberBytes(value, spans, withoutMark(received));
  return value;
}

const withoutMark = (received: Buffer): Buffer =>
  received.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? received.subarray(BYTE_ORDER_MARK.length)
    : received;

function readJson(body: Buffer): { readonly value: unknown; readonly text: string } {
  if (hasMoreValues(body, MOST_VALUES)) {
    const detail = `The body holds more than ${MOST_VALUES} values.`;
    throw ServingError.INVALID_REQUEST({ detail });
  }
  const text = body.toString('utf8');
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return { value, text };
  switch (flawOf(value, DEEPEST_JSON)) {
    case undefined:
      return { value, text };
    case 'too deep':
      throw ServingError.INVALID_REQUEST({ detail: 'The body nests too deeply.' });
    case 'sets a prototype':
      throw ServingError.INVALID_JSON();
  }
}

/** Whether its members are worth remembering: a request has a few dozen fields. */
const isModest = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(value).length <= MOST_REMEMBERED;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function remember(object: Readonly<Record<string, unknown>>, name: string, text: JsonText): void {
  const value = object[name];
  if (typeof value === 'object' && value !== null) rememberJson(value, text);
}

function rememberBytes(
  object: Readonly<Record<string, unknown>>,
  spans: readonly NamedSpan[],
  body: Buffer,
): void {
  for (const { name, from, to } of spans) remember(object, name, body.subarray(from, to));
}

/** The spans of a text's members in its bytes: each character is measured once. */
function spansInBytes(text: string, bytes: number): readonly NamedSpan[] {
  const spans = [...memberSpans(text)].map(([name, { from, to }]) => ({ name, from, to }));
  if (bytes === text.length) return spans;
  let [character, byte] = [0, 0];
  const byteAt = (at: number): number => {
    byte += Buffer.byteLength(text.slice(character, at));
    character = at;
    return byte;
  };
  const inOrder = spans.toSorted((one, other) => one.from - other.from); // a name that comes twice stands first
  return inOrder.map(({ name, from, to }) => ({ name, from: byteAt(from), to: byteAt(to) }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw ServingError.INVALID_JSON();
  }
}

/** One walk over a parsed body of 100 KB takes 5 µs; to search its text for such names took thirty times that. */
function flawOf(value: object, levels: number): Flaw | undefined {
  if (levels < 0) return 'too deep';
  if (Array.isArray(value)) {
    for (const one of value) {
      const flaw = typeof one === 'object' && one !== null ? flawOf(one, levels - 1) : undefined;
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  }
  for (const name in value) {
    if (name === '__proto__') return 'sets a prototype';
    const one = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof one !== 'object' || one === null) continue;
    if (name === 'constructor' && Object.hasOwn(one, 'prototype')) return 'sets a prototype';
    const flaw = flawOf(one, levels - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}
