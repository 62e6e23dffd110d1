import { expect, test } from 'vitest';
import { crc32c } from './crc32c.ts';

test.each([
  ['the check value of the polynomial', Buffer.from('123456789'), 0xe3069283],
  ['RFC 3720, 32 bytes of zeros', Buffer.alloc(32), 0x8a9136aa],
  ['RFC 3720, 32 bytes of ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
])('%s', (_, bytes, sum) => {
  expect(crc32c(bytes)).toBe(sum);
});
