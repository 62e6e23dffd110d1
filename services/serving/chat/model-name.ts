/** What a model name asks for. */
export type ModelChoice =
  | { readonly kind: 'live'; readonly adapter: string }
  | { readonly kind: 'version'; readonly adapter: string; readonly version: number }
  | { readonly kind: 'unknown' };

export type ModelNames = {
  readonly aliases: readonly string[];
  readonly strict: boolean;
  /** Those that the caller may ask, at least one; the first is the one that a name without any means. */
  readonly adapters: readonly string[];
};

const unknown = { kind: 'unknown' } as const;

/**
 * `clawloop`: the live policy; `clawloop@base` or `@base`: the policy before it learned anything, version 0;
 * `clawloop@v3` or `@v3`: a kept version. `clawloop:bob`, `clawloop:bob@v3`: the same of the adapter `bob`. A
 * client brings its own names for models, colons in them too: unless `strict`, any name without `@` that does
 * not begin as `clawloop:` is the live policy.
 */
export function chooseModel(name: string, { aliases, strict, adapters }: ModelNames): ModelChoice {
  const at = name.lastIndexOf('@');
  const before = at === -1 ? name : name.slice(0, at);
  const alias = aliases.includes(before) ? before : aliases.find((one) => before.startsWith(`${one}:`));
  const asked = alias === undefined || alias === before ? adapters[0]! : before.slice(alias.length + 1);
  if (!adapters.includes(asked)) return unknown;
  const known = alias !== undefined || (!strict && !before.includes('@'));
  if (at === -1) return known ? { kind: 'live', adapter: asked } : unknown;
  if (!known && before !== '') return unknown;
  const label = name.slice(at + 1);
  if (label === 'base') return { kind: 'version', adapter: asked, version: 0 };
  const version = /^v(\d{1,9})$/.exec(label)?.[1];
  return version === undefined ? unknown : { kind: 'version', adapter: asked, version: Number(version) };
}
