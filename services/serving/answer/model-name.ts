/** The policy that a model name selects. */
export type ModelChoice =
  | { readonly kind: 'live'; readonly adapter: string }
  | { readonly kind: 'version'; readonly adapter: string; readonly version: number }
  | { readonly kind: 'unknown' };

type ModelNames = {
  readonly aliases: readonly string[];
  readonly strict: boolean;
  /** Adapters that the caller may use, at least one; the first is the default. */
  readonly adapters: readonly string[];
};

const unknown = { kind: 'unknown' } as const;

/**
 * `clawloop`: the live policy. `clawloop@base` or `@base`: version 0, the policy before training. `clawloop@v3` or
 * `@v3`: a kept version. `clawloop:bob`, `clawloop:bob@v3`: the same for the adapter `bob`. Clients use their own model
 * names, also with colons: unless `strict`, any name without `@` that does not start with `clawloop:` selects the live
 * policy.
 */
export function chooseModel(name: string, { aliases, strict, adapters }: ModelNames): ModelChoice {
  const at = name.lastIndexOf('@');
  const policyName = at === -1 ? name : name.slice(0, at);
  const alias = aliases.includes(policyName)
    ? policyName
    : aliases.find((candidate) => policyName.startsWith(`${candidate}:`));
  const adapter =
    alias === undefined || alias === policyName ? adapters[0]! : policyName.slice(alias.length + 1);
  if (!adapters.includes(adapter)) return unknown;
  const known = alias !== undefined || (!strict && !policyName.includes('@'));
  if (at === -1) return known ? { kind: 'live', adapter } : unknown;
  if (!known && policyName !== '') return unknown;
  const label = name.slice(at + 1);
  if (label === 'base') return { kind: 'version', adapter, version: 0 };
  const version = /^v(\d{1,9})$/.exec(label)?.[1];
  return version === undefined ? unknown : { kind: 'version', adapter, version: Number(version) };
}
