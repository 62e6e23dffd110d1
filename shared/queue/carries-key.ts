import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether an Authorization header carries this key, as a Bearer token or as the password of any user. */
export const carriesKey = (authorization: string | undefined, key: string): boolean =>
  timingSafeEqual(digest(keyIn(authorization)), digest(key));

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The key that an Authorization header carries (RFC 6750 or RFC 7617); empty if it carries none. */
function keyIn(header = ''): string {
  const [scheme = '', value = ''] = header.split(' ');
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme.toLowerCase() !== 'basic') return '';
  const pair = Buffer.from(value, 'base64').toString();
  return pair.slice(pair.indexOf(':') + 1);
}
