import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { createKeyedHash } from './keyed-hash.ts';

test('the hash equals HMAC-SHA-256 for all lengths of secret and text', () => {
  for (const length of [0, 16, 32, 63, 64, 65, 200]) {
    const secret = Buffer.alloc(length, length);
    const hashed = createKeyedHash(secret);
    for (const text of [
      '',
      'a',
      'ключ',
      'x'.repeat(170),
      'x'.repeat(171),
      '€'.repeat(170),
      'x'.repeat(5_000),
      'b',
    ])
      expect(hashed(text)).toBe(createHmac('sha256', secret).update(text).digest('hex'));
  }
});
