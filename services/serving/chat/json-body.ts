import { rememberJson } from '../../../shared/chat/json-text.ts';
import { memberTexts } from '../../../shared/chat/member-texts.ts';
import { ServingError } from '../errors.ts';

/** Deeper JSON than this overflows the stack of whatever walks it later. */
const DEEPEST_JSON = 128;
/** Some clients of Windows begin a text with it. */
const BYTE_ORDER_MARK = '\uFEFF';

type Flaw = 'too deep' | 'sets a prototype';

/**
 * JSON that can be walked and copied without harm. Its lists and objects know the text that they were read from
 * (`jsonOnce`): what nothing changes is sent on and recorded as it was received.
 * @throws ServingError INVALID_JSON, also where a name in it could set a prototype; INVALID_REQUEST where it
 * nests too deeply
 */
export function parseJsonBody(text: string): unknown {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return value;
  switch (flawOf(value, DEEPEST_JSON)) {
    case undefined:
      rememberTexts(value, text);
      return value;
    case 'too deep':
      throw ServingError.INVALID_REQUEST({ detail: 'The body nests too deeply.' });
    case 'sets a prototype':
      throw ServingError.INVALID_JSON();
  }
}

function rememberTexts(body: object, text: string): void {
  if (Array.isArray(body)) return;
  for (const [name, part] of memberTexts(text)) {
    const value = (body as Readonly<Record<string, unknown>>)[name];
    if (typeof value === 'object' && value !== null) rememberJson(value, part);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text);
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
