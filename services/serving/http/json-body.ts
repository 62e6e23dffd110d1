import { isUtf8 } from 'node:buffer';
import { type JsonText, rememberJson } from '../../../shared/chat/json-text.ts';
import { memberSpans, type Span } from '../../../shared/chat/member-spans.ts';
import { isObject } from '../../../shared/lang/json.ts';
import { ServingError } from '../errors.ts';

/** Deeper JSON would overflow the stack of functions that walk it. */
const DEEPEST_JSON = 128;
/** Values of a body, including nested ones: each costs time when the body is walked. */
const MOST_VALUES = 250_000;
/** Some Windows clients start a text with it. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** Members up to which the texts of a body's members are remembered. */
const MOST_REMEMBERED = 256;
/** Bytes from which members are remembered as bytes; for shorter bodies, strings are faster. */
const LONG = 4096;

type Flaw = 'too deep' | 'sets a prototype';

/**
 * Parses JSON that is safe to walk and copy. Lists and objects remember the text that they were parsed from
 * (`jsonOnce`), so that unchanged parts are forwarded and recorded as received.
 * @throws ServingError INVALID_JSON, also for names that could set a prototype; INVALID_REQUEST for JSON that is
 * nested too deeply
 */
export function parseJsonBody(received: Buffer): unknown {
  const body = withoutMark(received);
  const { value, text } = readJson(body);
  if (!isObject(value) || !hasFewMembers(value)) return value;
  if (body.length >= LONG && isUtf8(body)) rememberBytes(value, spansInBytes(text, body.length), body);
  else for (const [name, { from, to }] of memberSpans(text)) remember(value, name, text.slice(from, to));
  return value;
}

/** A body that was parsed in another thread. */
export type ReadBody = {
  readonly value: unknown;
  /** Byte ranges of its members' values. */
  readonly spans: readonly NamedSpan[];
};
type NamedSpan = Span & { readonly name: string };

/** Parses a large body in another thread; `rememberBodyBytes` completes the result in the main thread. */
export function readLargeBody(received: Buffer): ReadBody {
  const body = withoutMark(received);
  const { value, text } = readJson(body);
  return {
    value,
    spans: isObject(value) && hasFewMembers(value) && isUtf8(body) ? spansInBytes(text, body.length) : [],
  };
}

/** Lets lists and objects of a body from another thread remember the bytes that they were parsed from. */
export function rememberBodyBytes({ value, spans }: ReadBody, received: Buffer): unknown {
  if (isObject(value)) rememberBytes(value, spans, withoutMark(received));
  return value;
}

const withoutMark = (received: Buffer): Buffer =>
  received.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? received.subarray(BYTE_ORDER_MARK.length)
    : received;

function readJson(body: Buffer): { readonly value: unknown; readonly text: string } {
  if (hasMoreValues(body, MOST_VALUES)) {
    const detail = `The body contains more than ${MOST_VALUES} values.`;
    throw ServingError.INVALID_REQUEST({ detail });
  }
  const text = body.toString('utf8');
  const value = parseOrRefuse(text);
  if (typeof value !== 'object' || value === null) return { value, text };
  switch (flawOf(value, DEEPEST_JSON)) {
    case undefined:
      return { value, text };
    case 'too deep':
      throw ServingError.INVALID_REQUEST({ detail: 'The body is nested too deeply.' });
    case 'sets a prototype':
      throw ServingError.INVALID_JSON();
  }
}

/** Whether the members are few enough to remember; a request has a few dozen fields. */
const hasFewMembers = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(value).length <= MOST_REMEMBERED;

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

/** Converts the members' spans from characters to bytes, measuring each character once. */
function spansInBytes(text: string, bytes: number): readonly NamedSpan[] {
  const spans = [...memberSpans(text)].map(([name, { from, to }]) => ({ name, from, to }));
  if (bytes === text.length) return spans;
  let [character, byte] = [0, 0];
  const byteAt = (at: number): number => {
    byte += Buffer.byteLength(text.slice(character, at));
    character = at;
    return byte;
  };
  const inOrder = spans.toSorted((a, b) => a.from - b.from); // a repeated name is out of order
  return inOrder.map(({ name, from, to }) => ({ name, from: byteAt(from), to: byteAt(to) }));
}

function parseOrRefuse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw ServingError.INVALID_JSON();
  }
}

/** Walking a parsed body of 100 KB takes 5 µs; searching its text takes 30 times as long. */
function flawOf(value: object, levels: number): Flaw | undefined {
  if (levels < 0) return 'too deep';
  if (Array.isArray(value)) {
    for (const item of value) {
      const flaw = typeof item === 'object' && item !== null ? flawOf(item, levels - 1) : undefined;
      if (flaw !== undefined) return flaw;
    }
    return undefined;
  }
  for (const name in value) {
    if (name === '__proto__') return 'sets a prototype';
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (typeof member !== 'object' || member === null) continue;
    if (name === 'constructor' && Object.hasOwn(member, 'prototype')) return 'sets a prototype';
    const flaw = flawOf(member, levels - 1);
    if (flaw !== undefined) return flaw;
  }
  return undefined;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
/** Comma, opening bracket, opening brace: at least one of them precedes each value except the first. */
const MARKS: ReadonlySet<number> = new Set([0x2c, 0x5b, 0x7b]);

/**
 * Whether a JSON text has more than `most` values, including nested ones. Looks at each byte at most once and
 * allocates nothing. The result is arbitrary for invalid JSON.
 */
function hasMoreValues(json: Buffer, most: number): boolean {
  if (json.length <= most) return false; // each value takes at least one byte
  let values = 1;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]!;
    if (byte === QUOTE) {
      at = closingQuote(json, at);
      if (at === -1) return false;
    } else if (MARKS.has(byte)) {
      values += 1;
      if (values > most) return true;
    }
  }
  return false;
}

/** Index of the closing quote of a string; -1: it has none. @param from index of the opening quote */
function closingQuote(json: Buffer, from: number): number {
  for (let at = json.indexOf(QUOTE, from + 1); at !== -1; at = json.indexOf(QUOTE, at + 1)) {
    let preceding = at - 1;
    while (json[preceding] === BACKSLASH) preceding -= 1;
    if ((at - preceding) % 2 === 1) return at;
  }
  return -1;
}
