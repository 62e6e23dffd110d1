/** What a model name asks for. */
export type ModelChoice =
  | { readonly kind: 'live' }
  | { readonly kind: 'version'; readonly version: number }
  | { readonly kind: 'unknown' };

/**
 * `clawloop`: the live policy; `clawloop@base` or `@base`: the policy before it learned anything, version 0;
 * `clawloop@v3` or `@v3`: a kept version. A client brings its own names for models: unless `strict`, any
 * name without `@` is the live policy.
 */
export function chooseModel(name: string, aliases: readonly string[], strict: boolean): ModelChoice {
  const at = name.lastIndexOf('@');
  const alias = at === -1 ? name : name.slice(0, at);
  const known = aliases.includes(alias) || (!strict && !alias.includes('@'));
  if (at === -1) return known ? { kind: 'live' } : { kind: 'unknown' };
  if (!known && alias !== '') return { kind: 'unknown' };
  const label = name.slice(at + 1);
  if (label === 'base') return { kind: 'version', version: 0 };
  const version = /^v(\d{1,9})$/.exec(label)?.[1];
  return version === undefined ? { kind: 'unknown' } : { kind: 'version', version: Number(version) };
}
