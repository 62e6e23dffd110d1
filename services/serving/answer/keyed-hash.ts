import { createHmac, hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const LONGEST_BYTES = 512;

/**
 * HMAC-SHA-256 of short texts, in hex. Each request needs it: with two one-shot hashes it takes 2 µs; `createHmac`,
 * which allocates an object for each text, takes 17 µs.
 */
export function createKeyedHash(secret: Uint8Array): (text: string) => string {
  const key = Buffer.alloc(BLOCK_BYTES);
  key.set(secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret);
  const padded = (byte: number, room: number) =>
    Buffer.concat([Buffer.from(key.map((keyByte) => keyByte ^ byte)), Buffer.alloc(room)]);
  const inner = padded(0x36, LONGEST_BYTES);
  const outer = padded(0x5c, 32);
  return (text) => {
    if (text.length * 3 > LONGEST_BYTES) return createHmac('sha256', secret).update(text).digest('hex');
    const bytes = inner.write(text, BLOCK_BYTES);
    outer.set(hash('sha256', inner.subarray(0, BLOCK_BYTES + bytes), 'buffer'), BLOCK_BYTES);
    return hash('sha256', outer);
  };
}
