import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { guardTerminal, visible, visibleLine, writeOver } from './terminal.ts';

const hostile = 'a\u001b]0;PWNED\u0007\u001b[2J\u009b31m\r\u007f\u202ecba\u2028b';

test('terminal control characters are escaped as in JSON; others stay', () => {
  expect(visible(hostile)).toBe(
    'a\\u001b]0;PWNED\\u0007\\u001b[2J\\u009b31m\\u000d\\u007f\\u202ecba\\u2028b',
  );
  const words = 'Grüße\n\t日本語 👩‍👩‍👧 \u200fשלום "x" \\u001b';
  expect(visible(words)).toBe(words);
  expect(visibleLine('a\n\tb\u001b')).toBe('a b\\u001b');
});

test('JSON stays valid and unchanged in meaning', () => {
  const shown = visible(JSON.stringify({ [hostile]: hostile }));
  expect(shown).not.toMatch(/[^\P{Cc}\n]/u);
  expect(JSON.parse(shown)).toEqual({ [hostile]: hostile });
});

test('a guarded stream writes only its own escapes', () => {
  const stream = new PassThrough() as unknown as NodeJS.WriteStream;
  guardTerminal(stream);
  stream.write(`${hostile}\n`);
  writeOver(stream, `50 % ${hostile}`);
  stream.write(Buffer.from('bytes'));
  const shown = String((stream as unknown as PassThrough).read());
  expect(shown.split('\n').at(-1)).toBe(`\r\u001b[2K50 % ${visible(hostile)}bytes`);
  expect(shown.split('\u001b')).toHaveLength(2);
});
