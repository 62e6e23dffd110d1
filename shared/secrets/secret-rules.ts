import { keyMaterialRules } from './rules/key-material.ts';
import { namedValueRules } from './rules/named-values.ts';
import { personalNumberRules } from './rules/personal-numbers.ts';
import type { SecretRule } from './rules/secret-rule.ts';
import { vendorTokenRules } from './rules/vendor-tokens.ts';
import { walletRules } from './rules/wallets.ts';

/** Version of the rules. Events name it with the kind, such as `github-token@2`. A changed pattern raises it. */
export const SECRET_RULES_VERSION = 2;

/**
 * Rules that recognise secrets by a vendor's prefix and length, by their form, or by the name before them. Forms
 * follow the vendors' documentation. If two rules match at the same place, the longer match wins, then the first
 * rule.
 */
export const secretRules: readonly SecretRule[] = [
  ...keyMaterialRules,
  ...vendorTokenRules,
  ...walletRules,
  ...namedValueRules,
  ...personalNumberRules,
];
