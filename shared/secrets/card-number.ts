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

/**
 * Whether digits, grouped or not, are a payment card number. One in ten numbers has a valid checksum by chance, so
 * prefix, length and the word before it are checked too.
 */
export function isCardNumber(found: string, text: string, start: number): boolean {
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
