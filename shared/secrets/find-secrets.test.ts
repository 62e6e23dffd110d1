import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { findSecrets, secretKindIn, withoutSecrets } from './find-secrets.ts';
import { SECRET_RULES_VERSION, secretRules } from './secret-rules.ts';

// Prefix and body are separate, so that secret scanners do not report this file as a leak.
const body = 'aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3vW5xY7zA9bC1dE3fG5hJ7kL9m';
const drawn = (length: number) => body.repeat(3).slice(0, length);
const hex = (length: number) => createHash('sha512').update('fixed').digest('hex').slice(0, length);
const pem = `-----BEGIN RSA ${'PRIVATE'} KEY-----\nMIIE${drawn(60)}\n${drawn(64)}\n-----END RSA ${'PRIVATE'} KEY-----`;
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const jwt = `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url({ sub: '1234567890' })}.${drawn(43)}`;

const secrets: readonly (readonly [kind: string, secret: string])[] = [
  ['private-key', pem],
  ['private-key', pem.replace(/RSA /g, '')],
  ['private-key', pem.replaceAll('\n', '\\n')],
  ['private-key', pem.replaceAll('\n', '\\\\n')],
  ['private-key', `AGE-SECRET-${'KEY'}-1${drawn(58).toUpperCase()}`],
  ['aws-access-key', `AK${'IA'}IOSFODNN7EXAMPLE`],
  ['github-token', `gh${'p_'}${drawn(36)}`],
  ['github-token', `github${'_pat_'}${drawn(22)}_${drawn(59)}`],
  ['gitlab-token', `gl${'pat-'}${drawn(20)}`],
  ['model-key', `sk-${'proj-'}${drawn(48)}`],
  ['model-key', `sk-${drawn(48)}`],
  ['model-key', `sk-${'ant-'}api03-${drawn(93)}AA`],
  ['model-key', `sk-${'or-v1-'}${hex(64)}`],
  ['model-key', `hf${'_'}${drawn(34)}`],
  ['clawloop-key', `cl${'aw-'}${drawn(32)}`],
  ['google-key', `AI${'za'}${drawn(35)}`],
  ['slack-token', `xo${'xb-'}123456789012-123456789012-${drawn(24)}`],
  ['slack-token', `hooks.slack.com/services/${'T0'}1234567/B01234567/${drawn(24)}`],
  ['payment-key', `sk${'_live_'}${drawn(24)}`],
  ['package-token', `npm${'_'}${drawn(36)}`],
  ['service-token', `SG${'.'}${drawn(22)}.${drawn(43)}`],
  ['service-token', `1234567890:${'AA'}${drawn(33)}`],
  ['jwt', jwt],
  ['card-number', '4111 1111 1111 1111'],
  ['card-number', '5500-0000-0000-0004'],
  ['card-number', '3782 822463 10005'],
  ['card-number', '6011000990139424'],
  ['card-number', '3530111333300000'],
];

test.each(secrets)('%s: %s', (kind, secret) => {
  expect(findSecrets(secret)).toEqual([{ kind, start: 0, end: secret.length }]);
  for (const around of [
    `Use ${secret} for it.`,
    `\`${secret}\``,
    `{"value":"${secret}"}`,
    `a\\n${secret}\\n`,
  ]) {
    expect(findSecrets(around).map((found) => found.kind)).toEqual([kind]);
    expect(withoutSecrets(around)).toBe(around.replace(secret, `(removed: ${kind})`));
  }
});

test.each([
  ['bearer-token', `Authorization: Bearer ${drawn(40)}`],
  ['bearer-token', `curl -H "Authorization: Bearer 8f14e45f-ceea-467f-a0e6-1f4ad1e2b7c9" host`],
  ['assigned-key', `OPENAI_API_KEY=${drawn(32)}`],
  ['assigned-key', `{"client_secret": "${hex(40)}"}`],
  ['assigned-key', `{\\"apiKey\\": \\"${drawn(32)}\\"}`],
  ['assigned-key', `The API key is ${hex(32)}.`],
  ['aws-secret-key', `AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCY${'EXAMPLEKEY'}`],
])('%s by the words before it: %s', (kind, text) => {
  const found = findSecrets(text);
  expect(found.map((one) => one.kind)).toEqual([kind]);
  expect(text.slice(0, found[0]!.start)).toMatch(/(?:Bearer |[=":]| is )\\?"?$/);
});

test.each([
  'The session is 550e8400-e29b-41d4-a716-446655440000.',
  `sha256 ${hex(64)}, md5 ${hex(32)}, commit ${hex(40)}`,
  `integrity: sha512-${Buffer.from(hex(128), 'hex').toString('base64')}`,
  'Your order 4111111111111111 was shipped.',
  'Order number: 5500000000000004, tracking no. 6011000990139424',
  'Booking confirmation: 4111 1111 1111 1111, customer no 5500000000000004',
  'A 16-digit number 4111111111111112 with another checksum',
  'ISBN 978-3-16-148410-0, IMEI 490154203237518, at 1763740314123 ms, 1763740314123456789 ns',
  'https://shop.example/orders/4111111111111111?x=1.4111111111111111',
  'pi is 3.14159265358979323846264338327950288',
  'Call +49 30 901820 or 555-0123-4567.',
  'A PEM file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.',
  '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAdrawn0000\n-----END PUBLIC KEY-----',
  'export OPENAI_API_KEY=your-api-key-goes-here-1234567890ab',
  'const apiKey = process.env.MY_SERVICE_API_KEY_2024',
  'const accessToken = createToken256OfSession1234(user), apiKey = settings2024Production.key',
  'Authorization: Bearer <token>, or Bearer YOUR_ACCESS_TOKEN_GOES_HERE_123',
  `Keys look like gh${'p_'}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx and sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.`,
  'The bearer of these responsibilities signs; the secret is telecommunication infrastructure.',
  'class="sk-circle-fade-dot sk-learn-pipeline-and-column-transformer-with-many-words"',
  'claw-nano-is-a-small-model-of-our-own-for-a-laptop',
  'eyJhbGciOi is how most tokens begin',
  'the primary key is customer_account_identifier_2024',
])('nothing in: %s', (text) => {
  expect(findSecrets(text)).toEqual([]);
});

test('random values that machines produce are not secrets', () => {
  for (let one = 0; one < 500; one++) {
    const digest = createHash('sha256').update(String(one)).digest();
    const text = digest.toString('hex');
    const uuid = [0, 8, 12, 16, 20]
      .map((from, part) => text.slice(from, [8, 12, 16, 20, 32][part]))
      .join('-');
    const seen = `id ${uuid}, digest ${text}, etag "${digest.toString('base64')}"`;
    expect(findSecrets(seen), seen).toEqual([]);
  }
});

test('secrets are found in order without overlap; the first has the rules version', () => {
  const token = `gh${'p_'}${drawn(36)}`;
  const text = `Authorization: Bearer ${token}, paid with 4111 1111 1111 1111 12/27`;
  expect(findSecrets(text).map(({ kind }) => kind)).toEqual(['github-token', 'card-number']);
  expect(withoutSecrets(text)).toBe(
    'Authorization: Bearer (removed: github-token), paid with (removed: card-number) 12/27',
  );
  expect(secretKindIn(['nothing', text])).toBe(`github-token@${SECRET_RULES_VERSION}`);
  expect(secretKindIn(['nothing'])).toBeUndefined();
});

test('repeated near matches take linear time', () => {
  for (const piece of [
    'eyJ-',
    'sk-',
    'AKIA',
    'Bearer ',
    'api_key: ',
    '-----BEGIN PRIVATE KEY-----',
    '4111 ',
    'xoxb-1',
    '\\',
    '\\_',
    '\u200b',
    '%41',
    'A',
    'AKIA ',
    'password is ',
    'password="',
    'DB_PASSWORD=',
    'mysql ',
    'curl -u a',
    'login a password',
    'http://a:',
    'otpauth://',
    '?token=',
    'Cookie: ',
    '"kty"',
    'recovery codes ',
    'the key is ',
    'abandon ',
    'MII',
    'DE89 ',
    '0123-',
    '$6$a$',
    'Basic a',
  ]) {
    const text = piece.repeat(200_000 / piece.length);
    const before = process.threadCpuUsage();
    findSecrets(text);
    const { user } = process.threadCpuUsage(before); // microseconds, whatever else the machine does
    expect(user, piece).toBeLessThan(1_500_000);
  }
});

test('a changed table has a new version', () => {
  const patterns = secretRules.map(({ kind, pattern }) => [kind, String(pattern)]);
  const digest = createHash('sha256').update(JSON.stringify(patterns)).digest('hex').slice(0, 12);
  expect(`${SECRET_RULES_VERSION}: ${digest}`).toMatchInlineSnapshot(`"2: cfd4b1acb2a5"`);
});
