import { keyMaterialRules } from './rules/key-material.ts';
import { namedValueRules } from './rules/named-values.ts';
import { personalNumberRules } from './rules/personal-numbers.ts';
import type { SecretRule } from './rules/secret-rule.ts';
import { vendorTokenRules } from './rules/vendor-tokens.ts';
import { walletRules } from './rules/wallets.ts';

/**
 * Of the tables below. A fact that names a kind also names the version, as in `github-token@2`: a change of a
 * pattern raises it.
 */
export const SECRET_RULES_VERSION = 2;

/**
 * What a secret looks like: by its vendor's prefix and length, by its form, or by the name that it is given.
 * The forms are those of the vendors' own documentation. Where two rules match the same place, the longer
 * match counts, then the rule that comes first.
 */
export const secretRules: readonly SecretRule[] = [
  ...keyMaterialRules,
  ...vendorTokenRules,
  ...walletRules,
  ...namedValueRules,
  ...personalNumberRules,
];
