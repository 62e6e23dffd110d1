import { expect, test } from 'vitest';
import { createCredentials } from './credentials.ts';

const { signal } = new AbortController();
const tokenUntil = (exp: number) => `eyJ.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.s`;

test('without tokens the key itself is sent, and asked about once', async () => {
  let asked = 0;
  const credentials = createCredentials('tml-key', async () => {
    asked += 1;
    return undefined;
  });
  for (let time = 0; time < 3; time++) expect(await credentials.current(signal)).toBe('tml-key');
  expect(asked).toBe(1);
});

test('a token is renewed five minutes before its end', async () => {
  let seconds = 1_000;
  const credentials = createCredentials(
    'tml-key',
    async () => tokenUntil(seconds + 3_600),
    () => 1_000 * seconds,
  );
  const first = await credentials.current(signal);
  seconds += 3_299;
  expect(await credentials.current(signal)).toBe(first);
  seconds += 2;
  expect(await credentials.current(signal)).not.toBe(first);
});

test('keys and tokens are hidden in texts, and a key that no header can hold is refused without it', async () => {
  const credentials = createCredentials('tml-key', async () => 'eyJ.token.s');
  await credentials.current(signal);
  expect(credentials.hide('tml-key and eyJ.token.s')).toBe('*** and ***');
  for (const bad of ['', 'tml key', 'tml\nkey'])
    expect(() => createCredentials(bad, async () => undefined)).toThrow(
      /the API key is empty or has a space/,
    );
});

test('after a failure the next call asks again', async () => {
  let fails = true;
  const credentials = createCredentials('tml-key', async () => {
    if (fails) throw new Error('no network');
    return undefined;
  });
  await expect(credentials.current(signal)).rejects.toThrow('no network');
  fails = false;
  expect(await credentials.current(signal)).toBe('tml-key');
});
