import { isNoFiller } from '../looks-random.ts';
import { type SecretRule, wordWithDashes } from './secret-rule.ts';

/** Private keys, with or without their header lines. */
export const keyMaterialRules: readonly SecretRule[] = [
  {
    kind: 'private-key',
    about: 'a PEM or PGP private key with its body, or an age identity',
    pattern:
      /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[A-Za-z0-9+/=\s:,.()"'\\-]){40,20000}(?:-----END [A-Z0-9 ]{1,60}-----)?|\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g,
    holds: (secret) => /[A-Za-z0-9+/=]{40}|^AGE/.test(secret),
  },
  {
    kind: 'private-key-body',
    about:
      'the body of a private key without its first line (PKCS#1, PKCS#8, SEC 1, OpenSSH), or of a PuTTY key',
    pattern:
      /(?<![A-Za-z0-9+/])(?:M[A-Za-z0-9+/]{39,20000}|b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{20,20000})={0,2}|Private-Lines: ?\d{1,3}\s{1,4}[A-Za-z0-9+/]{40,20000}={0,2}/g,
    holds: (secret) => !secret.startsWith('M') || isPrivateKeyDer(secret),
  },
  {
    kind: 'wireguard-key',
    about: 'a private or preshared key in a WireGuard file',
    pattern: /(?:PrivateKey|PresharedKey)\s{0,4}=\s{0,4}(?<secret>[A-Za-z0-9+/]{43}=)/g,
    holds: isNoFiller,
  },
  {
    kind: 'jwk',
    about: 'the private part of a JSON Web Key',
    pattern: /"kty"[^{}]{1,2000}?"d"\s{0,4}:\s{0,4}"(?<secret>[A-Za-z0-9_-]{40,1000})/g,
    holds: isNoFiller,
  },
  {
    kind: 'signed-storage-url',
    about: 'a signed link to an object store (AWS, Google Cloud, Azure)',
    pattern:
      /[?&;](?:X-Amz-Signature|X-Goog-Signature)=(?<secret>[0-9a-f]{64,512})|[?&;]sig=(?<secret>[A-Za-z0-9+/]{43}=)/g,
    holds: isNoFiller,
  },
  {
    kind: 'aws-access-key',
    about: 'an access key id of AWS (AKIA, ASIA) or a key of Amazon Bedrock',
    pattern: wordWithDashes(
      '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|ABSK[A-Za-z0-9+/]{109,269}={0,2}|bedrock-api-key-[A-Za-z0-9+/=]{40,1000}',
    ),
    holds: isNoFiller,
  },
  {
    kind: 'aws-secret-key',
    about: 'a secret access key or a session token of AWS beside its name',
    pattern:
      /(?:secret[ _-]?access[ _-]?key["'`\s]{0,4}(?:=>|[:=]|is)["'`\s]{0,4}(?<secret>[A-Za-z0-9/+]{40})|aws[ _-]?session[ _-]?token["'`\s]{0,4}(?:=>|[:=]|is)["'`\s]{0,4}(?<secret>[A-Za-z0-9/+]{40,2000}={0,2}))(?![A-Za-z0-9/+=])/gi,
    holds: isNoFiller,
  },
];

/**
 * Whether Base64 encodes the DER of a private key: a sequence that begins with the version 0 or 1 (RFC 8017 A.1.2,
 * RFC 5958, RFC 5915). Certificates and public keys begin with another member.
 */
function isPrivateKeyDer(base64: string): boolean {
  const bytes = Buffer.from(base64.slice(0, 24), 'base64');
  if (bytes[0] !== 0x30) return false;
  const lengthBytes = bytes[1]! < 0x80 ? 1 : 1 + (bytes[1]! & 0x7f);
  const [type, length, version] = bytes.subarray(1 + lengthBytes);
  return type === 0x02 && length === 1 && (version === 0 || version === 1);
}
