/** The state of reading a JSON value (RFC 8259), one UTF-16 unit at a time. */
export type JsonState = {
  /** The open objects and arrays, outermost first. */
  readonly open: string;
  readonly mode: Mode;
  /** The remaining characters of a literal or an escape. */
  readonly pending: string;
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

export const jsonStart: JsonState = { open: '', mode: 'value', pending: '' };

/** Whether the value is complete. A bare number never is, since more digits may come. */
export const isWhole = ({ mode }: JsonState): boolean => mode === 'whole';

/** Whether the state is inside a string. */
const isInText = ({ mode }: JsonState): boolean => mode === 'text' || mode === 'key-text';

/** The next characters of a number, by mode; a number cannot end in a mode without `ends`. */
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
/** By the first character of an escape: what follows it; `x` is a hexadecimal digit. */
const escapes: Readonly<Record<string, string>> = { u: 'xxxx' };

/** The state after one more UTF-16 unit; undefined if no JSON value begins this way. */
export function nextJson(state: JsonState, character: string): JsonState | undefined {
  const { open, mode, pending } = state;
  if (isInText(state)) return inText(state, character);
  if (mode === 'literal') {
    if (character !== pending[0]) return undefined;
    return pending.length === 1 ? ended(open) : { ...state, pending: pending.slice(1) };
  }
  if (isNumber(mode)) {
    const { ends, next } = numbers[mode];
    const following = next.find(([characters]) => characters.test(character))?.[1];
    if (following !== undefined) return { ...state, mode: following };
    return ends ? nextJson(ended(open), character) : undefined;
  }
  if (/[ \t\r\n]/.test(character)) return state;
  switch (mode) {
    case 'first-item':
      return character === ']' ? closed(open) : valueAt(open, character);
    case 'value':
      return valueAt(open, character);
    case 'first-key':
      if (character === '}') return closed(open);
      return character === '"' ? { open, mode: 'key-text', pending: '' } : undefined;
    case 'key':
      return character === '"' ? { open, mode: 'key-text', pending: '' } : undefined;
    case 'colon':
      return character === ':' ? { open, mode: 'value', pending: '' } : undefined;
    case 'after': {
      const within = open.at(-1);
      if (character === ',') return { open, mode: within === '{' ? 'key' : 'value', pending: '' };
      return character === (within === '{' ? '}' : ']') ? closed(open) : undefined;
    }
    default:
      return undefined;
  }
}

const ended = (open: string): JsonState => ({ open, mode: open === '' ? 'whole' : 'after', pending: '' });
const closed = (open: string): JsonState => ended(open.slice(0, -1));

function valueAt(open: string, character: string): JsonState | undefined {
  if (character === '{') return { open: `${open}{`, mode: 'first-key', pending: '' };
  if (character === '[') return { open: `${open}[`, mode: 'first-item', pending: '' };
  if (character === '"') return { open, mode: 'text', pending: '' };
  if (character === '-') return { open, mode: 'minus', pending: '' };
  if (/\d/.test(character)) return { open, mode: character === '0' ? 'zero' : 'integer', pending: '' };
  const pending = Object.hasOwn(literals, character) ? literals[character] : undefined;
  return pending === undefined ? undefined : { open, mode: 'literal', pending };
}

function inText(state: JsonState, character: string): JsonState | undefined {
  const { open, mode, pending } = state;
  if (pending === '\\') {
    return /["\\/bfnrtu]/.test(character) ? { ...state, pending: escapes[character] ?? '' } : undefined;
  }
  if (pending !== '')
    return /[\da-fA-F]/.test(character) ? { ...state, pending: pending.slice(1) } : undefined;
  if (character === '\\') return { ...state, pending: '\\' };
  if (character < ' ') return undefined;
  if (character !== '"') return state;
  return mode === 'key-text' ? { open, mode: 'colon', pending: '' } : ended(open);
}
