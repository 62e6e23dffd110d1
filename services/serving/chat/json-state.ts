/** Where the reading of a JSON value stands, letter by letter (RFC 8259). */
export type JsonState = {
  /** The objects and arrays that are open, outermost first. */
  readonly open: string;
  readonly mode: Mode;
  /** Of a literal or an escape: what must still come. */
  readonly rest: string;
};

type Mode =
  | 'value'
  | 'first-item'
  | 'first-key'
  | 'key'
  | 'key-text'
  | 'colon'
  | 'text'
  | 'literal'
  | 'after'
  | 'whole'
  | NumberMode;
type NumberMode = 'minus' | 'zero' | 'integer' | 'point' | 'fraction' | 'e' | 'sign' | 'exponent';

export const jsonStart: JsonState = { open: '', mode: 'value', rest: '' };

/** Whether the value has ended; a bare number never does, since more of it may come. */
export const isWhole = ({ mode }: JsonState): boolean => mode === 'whole';

/** Whether white space is part of a text here. */
export const isInText = ({ mode }: JsonState): boolean => mode === 'text' || mode === 'key-text';

/** The next letters of a number, by where it stands; a mode without `ends` cannot be its last. */
const numbers: Readonly<
  Record<NumberMode, { readonly ends: boolean; readonly next: readonly (readonly [RegExp, NumberMode])[] }>
> = {
  minus: {
    ends: false,
    next: [
      [/0/, 'zero'],
      [/[1-9]/, 'integer'],
    ],
  },
  zero: {
    ends: true,
    next: [
      [/\./, 'point'],
      [/[eE]/, 'e'],
    ],
  },
  integer: {
    ends: true,
    next: [
      [/\d/, 'integer'],
      [/\./, 'point'],
      [/[eE]/, 'e'],
    ],
  },
  point: { ends: false, next: [[/\d/, 'fraction']] },
  fraction: {
    ends: true,
    next: [
      [/\d/, 'fraction'],
      [/[eE]/, 'e'],
    ],
  },
  e: {
    ends: false,
    next: [
      [/[+-]/, 'sign'],
      [/\d/, 'exponent'],
    ],
  },
  sign: { ends: false, next: [[/\d/, 'exponent']] },
  exponent: { ends: true, next: [[/\d/, 'exponent']] },
};
const isNumber = (mode: Mode): mode is NumberMode => mode in numbers;

const literals: Readonly<Record<string, string>> = { t: 'rue', f: 'alse', n: 'ull' };
/** An escape's first letter to what follows it; `x` stands for a hexadecimal digit. */
const escapes: Readonly<Record<string, string>> = { u: 'xxxx' };

/** The state after one more letter (a UTF-16 unit); undefined: no JSON value begins so. */
export function nextJson(state: JsonState, letter: string): JsonState | undefined {
  const { open, mode, rest } = state;
  if (isInText(state)) return inText(state, letter);
  if (mode === 'literal') {
    if (letter !== rest[0]) return undefined;
    return rest.length === 1 ? ended(open) : { ...state, rest: rest.slice(1) };
  }
  if (isNumber(mode)) {
    const { ends, next } = numbers[mode];
    const found = next.find(([letters]) => letters.test(letter));
    if (found !== undefined) return { ...state, mode: found[1] };
    return ends ? nextJson(ended(open), letter) : undefined;
  }
  if (/[ \t\r\n]/.test(letter)) return state;
  switch (mode) {
    case 'first-item':
      return letter === ']' ? closed(open) : valueAt(open, letter);
    case 'value':
      return valueAt(open, letter);
    case 'first-key':
      if (letter === '}') return closed(open);
      return letter === '"' ? { open, mode: 'key-text', rest: '' } : undefined;
    case 'key':
      return letter === '"' ? { open, mode: 'key-text', rest: '' } : undefined;
    case 'colon':
      return letter === ':' ? { open, mode: 'value', rest: '' } : undefined;
    case 'after': {
      const within = open.at(-1);
      if (letter === ',') return { open, mode: within === '{' ? 'key' : 'value', rest: '' };
      return letter === (within === '{' ? '}' : ']') ? closed(open) : undefined;
    }
    default:
      return undefined;
  }
}

const ended = (open: string): JsonState => ({ open, mode: open === '' ? 'whole' : 'after', rest: '' });
const closed = (open: string): JsonState => ended(open.slice(0, -1));

function valueAt(open: string, letter: string): JsonState | undefined {
  if (letter === '{') return { open: `${open}{`, mode: 'first-key', rest: '' };
  if (letter === '[') return { open: `${open}[`, mode: 'first-item', rest: '' };
  if (letter === '"') return { open, mode: 'text', rest: '' };
  if (letter === '-') return { open, mode: 'minus', rest: '' };
  if (/\d/.test(letter)) return { open, mode: letter === '0' ? 'zero' : 'integer', rest: '' };
  const rest = Object.hasOwn(literals, letter) ? literals[letter] : undefined;
  return rest === undefined ? undefined : { open, mode: 'literal', rest };
}

function inText(state: JsonState, letter: string): JsonState | undefined {
  const { open, mode, rest } = state;
  if (rest === '\\') {
    return /["\\/bfnrtu]/.test(letter) ? { ...state, rest: escapes[letter] ?? '' } : undefined;
  }
  if (rest !== '') return /[\da-fA-F]/.test(letter) ? { ...state, rest: rest.slice(1) } : undefined;
  if (letter === '\\') return { ...state, rest: '\\' };
  if (letter < ' ') return undefined;
  if (letter !== '"') return state;
  return mode === 'key-text' ? { open, mode: 'colon', rest: '' } : ended(open);
}
