import { createHash } from 'node:crypto';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import { isNoFiller } from '../looks-random.ts';
import { type SecretRule, word } from './secret-rule.ts';

/** words of the shortest phrase of BIP39 */
const PHRASE_WORDS = 12;
/** fewer of them are a word that somebody repeats */
const DISTINCT_WORDS = 6;
const phraseWords: ReadonlySet<string> = new Set(wordlist);

/** 64 hexadecimal digits are as often a digest: the words before them tell. */
const otherDigits =
  /\b(?:tx|txn|transaction|hash|block|digest|sha-?\d*|keccak|root|topic|commit|checksum|address|contract|slot|event|data|receipt|signature)\w{0,10}[^\w\n]{0,6}(?:is[^\w\n]{1,4})?$/i;
/** characters before the digits that may say what they are */
const CONTEXT = 40;

/** What moves money without a bank. */
export const walletRules: readonly SecretRule[] = [
  {
    kind: 'wallet-key',
    about:
      'a private key of a wallet: 0x and 64 hexadecimal digits that are no transaction, WIF, or an extended key',
    pattern: word(
      '0x[0-9a-fA-F]{64}|[5KL][1-9A-HJ-NP-Za-km-z]{50,51}|[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{107,108}',
    ),
    holds: (secret, text, start) =>
      secret.startsWith('0x')
        ? isNoFiller(secret) && !otherDigits.test(text.slice(Math.max(0, start - CONTEXT), start))
        : hasBase58Checksum(secret),
  },
  {
    kind: 'seed-phrase',
    about: 'twelve or more words in a row of the English list of BIP39',
    pattern: /\b[a-z]{3,8}(?:[\s,;]{1,3}(?:\d{1,2}[.):]?\s{0,2})?[a-z]{3,8}){11,2000}\b/gi,
    holds: (secret) => {
      let row: string[] = [];
      for (const [found] of secret.matchAll(/[a-z]+/gi)) {
        row = phraseWords.has(found.toLowerCase()) ? [...row, found].slice(-PHRASE_WORDS) : [];
        if (row.length === PHRASE_WORDS && new Set(row).size >= DISTINCT_WORDS) return true;
      }
      return false;
    },
  },
];

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Base58Check: the last four bytes are the head of a double SHA-256 of the others. */
function hasBase58Checksum(text: string): boolean {
  let number = 0n;
  for (const letter of text) number = number * 58n + BigInt(ALPHABET.indexOf(letter));
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  const sha256 = (of: Uint8Array) => createHash('sha256').update(of).digest();
  return sha256(sha256(bytes.subarray(0, -4)))
    .subarray(0, 4)
    .equals(bytes.subarray(-4));
}
