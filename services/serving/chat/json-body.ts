import { isUtf8 } from 'node:buffer';
import { type JsonText, rememberJson } from '../../../shared/chat/json-text.ts';
import { memberSpans } from '../../../shared/chat/member-spans.ts';
import { ServingError } from '../errors.ts';

/** Deeper JSON than this overflows the stack of whatever walks it later. */
const DEEPEST_JSON = 128;
/** Some clients of Windows begin a text with it. */
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
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
  const hasMark = received.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const body = hasMark ? received.subarray(BYTE_ORDER_MARK.length) : received;
  const text = body.toString('utf8');
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return value;
  switch (flawOf(value, DEEPEST_JSON)) {
    case undefined:
      if (!Array.isArray(value)) rememberTexts(value, text, body);
      return value;
    case 'too deep':
      throw ServingError.INVALID_REQUEST({ detail: 'The body nests too deeply.' });
    case 'sets a prototype':
      throw ServingError.INVALID_JSON();
  }
}

function rememberTexts(object: object, text: string, body: Buffer): void {
  const part = body.length >= LONG && isUtf8(body) ? partsOf(text, body) : partsOf(text);
  for (const [name, { from, to }] of memberSpans(text)) {
    const value = (object as Readonly<Record<string, unknown>>)[name];
    if (typeof value === 'object' && value !== null) rememberJson(value, part(from, to));
  }
}

type Part = (from: number, to: number) => JsonText;

/** Cuts parts out of a body; where its bytes are given, they are as many as its characters, or more. */
function partsOf(text: string, bytes?: Buffer): Part {
  if (bytes === undefined) return (from, to) => text.slice(from, to);
  if (bytes.length === text.length) return (from, to) => bytes.subarray(from, to);
  const byteAt = (at: number) => Buffer.byteLength(text.slice(0, at));
  return (from, to) => bytes.subarray(byteAt(from), byteAt(to));
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
