import type { SecretRule } from './secret-rule.ts';

/** Card networks: prefixes (ISO/IEC 7812) and number lengths. */
const networks: readonly (readonly [prefix: RegExp, lengths: readonly number[]])[] = [
  [/^4/, [16]], // Visa
  [/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/, [16]], // Mastercard
  [/^3[47]/, [15]], // American Express
  [/^(?:6011|64[4-9]|65)/, [16]], // Discover
  [/^35(?:2[89]|[3-8])/, [16]], // JCB
  [/^3(?:0[0-5]|[689])/, [14]], // Diners Club
  [/^62/, [16, 17, 18, 19]], // UnionPay
];

/** Words before a number that mean another kind of number. */
const otherNumber =
  /\b(?:order|invoice|customer|case|booking|confirmation|barcode|tracking|ticket|shipment|parcel|transaction|reference|ref|serial|imei|isbn|id|sku|timestamp)\b[^\w\n]{0,4}(?:(?:number|no|nr|id)\b[^\w\n]{0,4})?(?:is[^\w\n]{1,4})?$/i;
/** characters of context before a number */
const CONTEXT = 40;

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

/**
 * Whether digits, grouped or not, are a payment card number. One in ten numbers has a valid checksum by chance, so
 * prefix, length and the word before it are checked too.
 */
function isCardNumber(found: string, text: string, start: number): boolean {
  const digits = found.replace(/\D/g, '');
  const fits = networks.some(([prefix, lengths]) => prefix.test(digits) && lengths.includes(digits.length));
  return (
    fits && hasLuhnChecksum(digits) && !otherNumber.test(text.slice(Math.max(0, start - CONTEXT), start))
  );
}

/** ISO/IEC 7812-1, annex B: every second digit from the right is doubled, its digits added. */
function hasLuhnChecksum(digits: string): boolean {
  const sum = [...digits].reverse().reduce((before, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 1 : 2);
    return before + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}
