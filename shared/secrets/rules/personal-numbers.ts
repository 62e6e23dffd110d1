import { isCardNumber } from '../card-number.ts';
import type { SecretRule } from './secret-rule.ts';

/** Numbers of a person's accounts and identity documents. */
export const personalNumberRules: readonly SecretRule[] = [
  {
    kind: 'card-number',
    about: 'a payment card number: network, length, grouping and checksum are valid',
    pattern:
      /(?<![\w./#+-])(?:\d{14,19}|\d{4}([ .-])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ .-])\d{6}\2\d{4,5})(?!\w|[-.]\d)/g,
    holds: isCardNumber,
  },
  {
    kind: 'iban',
    about: 'an international bank account number with a valid checksum',
    pattern: /(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/g,
    holds: (found) => hasIbanChecksum(found.replaceAll(' ', '')),
  },
  {
    kind: 'social-security-number',
    about: 'a US social security number with dashes',
    pattern: /(?<![\w.+-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
    holds: () => true,
  },
  {
    kind: 'bank-account',
    about: 'an account number beside its routing number, or a German tax number beside its name',
    pattern:
      /routing (?:number|no\.?)[^\d\n]{0,8}\d{9}[^\n\d]{0,40}account[^\d\n]{0,20}(?<secret>\d{6,17})(?!\d)|steuer-?(?:id|identifikationsnummer)[^\d\n]{0,14}(?<secret>\d{2} ?\d{3} ?\d{3} ?\d{3})(?!\d)/gi,
    holds: () => true,
  },
];

/** ISO 13616 and ISO 7064 (97-10): letters become numbers from 10 to 35, the first four characters move to the end. */
function hasIbanChecksum(iban: string): boolean {
  let rest = 0;
  for (const letter of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(letter, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
