import { SECRET_RULES_VERSION, secretRules } from './secret-rules.ts';

export type FoundSecret = { readonly kind: string; readonly start: number; readonly end: number };

/** `\n`, `\"` and the like, as JSON and source text write them, escaped once or a few times over. */
const escapes = /\\{1,8}[nrt"']/g;

/**
 * The secrets in a text, by where they begin, none inside another. Pure, and linear in the text: the same
 * answer on every replay under the same rules.
 */
export function findSecrets(text: string): readonly FoundSecret[] {
  const flat = text.replace(escapes, (one) => ' '.repeat(one.length)); // positions stay
  const found = secretRules.flatMap(({ kind, pattern, holds }) =>
    [...flat.matchAll(pattern)].flatMap((match) => {
      const secret = match.groups?.secret ?? match[0];
      const end = match.index + match[0].length;
      const start = end - secret.length;
      return holds(secret, flat, start) ? [{ kind, start, end }] : [];
    }),
  );
  let reached = 0;
  return found
    .sort((a, b) => a.start - b.start || b.end - a.end)
    .filter(({ start, end }) => {
      if (start < reached) return false;
      reached = end;
      return true;
    });
}

/** The kind of the first secret in any of the texts, with the version of the rules: `github-token@1`. */
export function secretKindIn(texts: readonly string[]): string | undefined {
  for (const text of texts) {
    const [first] = findSecrets(text);
    if (first !== undefined) return `${first.kind}@${SECRET_RULES_VERSION}`;
  }
  return undefined;
}

/** The text with `(removed: KIND)` in the place of every secret. */
export function withoutSecrets(text: string): string {
  let shown = '';
  let reached = 0;
  for (const { kind, start, end } of findSecrets(text)) {
    shown += `${text.slice(reached, start)}(removed: ${kind})`;
    reached = end;
  }
  return shown + text.slice(reached);
}
