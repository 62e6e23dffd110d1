import { createHash } from 'node:crypto';
import { wordlist as english } from '@scure/bip39/wordlists/english.js';
import { wordlist as french } from '@scure/bip39/wordlists/french.js';
import { wordlist as italian } from '@scure/bip39/wordlists/italian.js';
import { wordlist as portuguese } from '@scure/bip39/wordlists/portuguese.js';
import { wordlist as spanish } from '@scure/bip39/wordlists/spanish.js';
import { isNoFiller } from '../looks-random.ts';
import { type SecretRule, word } from './secret-rule.ts';

/** words in the shortest BIP39 phrase */
const PHRASE_WORDS = 12;
/** fewer distinct words are a repetition, not a phrase */
const DISTINCT_WORDS = 6;
const lists: readonly ReadonlySet<string>[] = [english, french, italian, portuguese, spanish].map(
  (words) => new Set(words.map((word) => word.normalize('NFKD'))),
);

/** Words before 64 hexadecimal digits that mean a digest instead of a key. */
const otherDigits =
  /(?:\/\/|#|--)\s{0,2}$|\b(?:tx|txn|transaction|hash|block|digest|sha-?\d*|keccak|root|topic|commit|checksum|address|contract|slot|event|data|receipt|signature)\w{0,10}[^\w\n]{0,6}(?:is[^\w\n]{1,4})?$/i;
/** characters of context before the digits */
const CONTEXT = 40;

/** Keys and phrases that give access to cryptocurrency. */
export const walletRules: readonly SecretRule[] = [
  {
    kind: 'wallet-key',
    about:
      'a private key of a wallet: 0x and 64 hexadecimal digits other than a transaction hash, WIF, or an extended key',
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
    about:
      'twelve or more consecutive words of a BIP39 list (English, French, Italian, Portuguese or Spanish)',
    pattern: /(?<!\p{L})\p{L}{3,9}(?:[\s,;]{1,3}(?:\d{1,2}[.):]?\s{0,2})?\p{L}{3,9}){11,2000}(?!\p{L})/gu,
    holds: (secret) => {
      const words =
        secret
          .normalize('NFKD')
          .toLowerCase()
          .match(/[\p{L}\p{M}]+/gu) ?? [];
      return lists.some((list) => hasPhrase(words, list));
    },
  },
  {
    kind: 'wallet-key',
    about: 'a private key of Solana beside that name, or the 64 bytes of its file',
    pattern:
      /(?:private key|keypair|secret key|phantom)[^\n]{0,40}?(?<![\w])(?<secret>[1-9A-HJ-NP-Za-km-z]{80,90})(?!\w)|\[(?:\s?\d{1,3},){63}\s?\d{1,3}\s?\]/gi,
    holds: isNoFiller,
  },
];

function hasPhrase(words: readonly string[], list: ReadonlySet<string>): boolean {
  let run = 0;
  for (const [i, word] of words.entries()) {
    run = list.has(word) ? run + 1 : 0;
    const isLongEnough = run >= PHRASE_WORDS;
    if (isLongEnough && new Set(words.slice(i + 1 - PHRASE_WORDS, i + 1)).size >= DISTINCT_WORDS) return true;
  }
  return false;
}

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Base58Check: the last four bytes are the first four of a double SHA-256 of the other bytes. */
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
