import { foldText } from './fold-text.ts';
import { SECRET_RULES_VERSION, secretRules } from './secret-rules.ts';

export type FoundSecret = { readonly kind: string; readonly start: number; readonly end: number };

/** Base64 or hexadecimal that may encode a text; the shortest encodes 18 characters. */
const base64 = /(?<![\w+/-])(?:[A-Za-z0-9+/]{24,20000}={0,2}|[A-Za-z0-9_-]{24,20000})(?![\w+/=-])/g;
const printable = /^[\x20-\x7e\s]{16,}$/;

/**
 * Finds the secrets in a text, in order and without overlaps. It sees through invisible characters, escapes and
 * encoded characters, and one level of Base64 and hexadecimal. It is pure and linear in the length, so a replay
 * with the same rules gives the same result.
 */
export function findSecrets(text: string): readonly FoundSecret[] {
  const found = [...findIn(text, false), ...(text.includes('%') ? findIn(text, true) : [])].sort(
    (a, b) => a.start - b.start || b.end - a.end,
  );
  let reached = 0;
  return found.filter(({ start, end }) => {
    if (start < reached) return false;
    reached = end;
    return true;
  });
}

function findIn(text: string, keepPercent: boolean): readonly FoundSecret[] {
  const { flat, positionOf } = foldText(text, keepPercent);
  return [...matches(flat), ...hidden(flat)].map(({ kind, start, end }) => ({
    kind,
    start: positionOf(start),
    end: positionOf(end),
  }));
}

const matches = (flat: string): readonly FoundSecret[] =>
  secretRules.flatMap(({ kind, pattern, holds }) =>
    allMatches(pattern, flat).flatMap((match) => {
      const secret = match.groups?.secret ?? match[0];
      const end = match.index + match[0].length;
      const start = end - secret.length;
      return holds(secret, flat, start) ? [{ kind, start, end }] : [];
    }),
  );

/** As `matchAll`, which copies the pattern at each call: with dozens of patterns, that takes most of the time. */
function allMatches(pattern: RegExp, text: string): readonly RegExpExecArray[] {
  const found: RegExpExecArray[] = [];
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    found.push(match);
    if (match[0] === '') pattern.lastIndex += 1;
  }
  return found;
}

function hidden(flat: string): readonly FoundSecret[] {
  return allMatches(base64, flat).flatMap(({ 0: found, index }) => {
    const texts = readings(found).filter((text) => printable.test(text));
    const first = texts.flatMap(matches)[0];
    return first === undefined ? [] : [{ kind: first.kind, start: index, end: index + found.length }];
  });
}

/** Possible decodings. */
const readings = (found: string): readonly string[] => [
  Buffer.from(found, found.includes('-') || found.includes('_') ? 'base64url' : 'base64').toString('latin1'),
  ...(/^[0-9a-fA-F]+$/.test(found) ? [Buffer.from(found, 'hex').toString('latin1')] : []),
];

/** The kind of the first secret in any of the texts, with the version of the rules: `github-token@1`. */
export function secretKindIn(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const [first] = findSecrets(text);
    if (first !== undefined) return `${first.kind}@${SECRET_RULES_VERSION}`;
  }
  return undefined;
}

/** The text with every secret replaced by `(removed: KIND)`. */
export function withoutSecrets(text: string): string {
  let shown = '';
  let reached = 0;
  for (const { kind, start, end } of findSecrets(text)) {
    shown += `${text.slice(reached, start)}(removed: ${kind})`;
    reached = end;
  }
  return shown + text.slice(reached);
}
