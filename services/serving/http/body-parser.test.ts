import { afterAll, expect, test, vi } from 'vitest';
import { jsonOnce } from '../../../shared/chat/json-text.ts';
import { createBodyParser } from './body-parser.ts';
import { parseJsonBody } from './json-body.ts';

const parser = createBodyParser();
afterAll(parser.close);

test('another thread parses a large body to the same value', async () => {
  for (const words of ['plain', 'é, 😀']) {
    const messages = [{ role: 'user', content: words.repeat(400_000) }];
    const received = Buffer.from(`\uFEFF{"é":1,"messages":${JSON.stringify(messages)}, "tools":[ {} ]}`);
    const here = vi.spyOn(JSON, 'parse');
    const read = (await parser.parse(received)) as Record<string, object>;
    const longest = Math.max(0, ...here.mock.calls.map(([text]) => text.length));
    here.mockRestore();
    expect(longest).toBeLessThan(1_000_000);
    const expected = parseJsonBody(received) as Record<string, object>;
    expect(read).toEqual(expected);
    for (const name of ['messages', 'tools'])
      expect(String(jsonOnce(read[name]!))).toBe(String(jsonOnce(expected[name]!)));
  }
});

test('errors in large bodies are the same as in small ones', async () => {
  const large = 'x'.repeat(2_000_000);
  const faults: readonly (readonly [text: string, fault: object])[] = [
    [`{"a":"${large}"`, { code: 'invalid_json', status: 400 }],
    [`{"a":"${large}","__proto__":{}}`, { code: 'invalid_json' }],
    [`[${'[],'.repeat(800_000)}0]`, { code: 'invalid_request', message: expect.stringContaining('values') }],
    [
      `{"a":"${large}","b":${'['.repeat(200)}${']'.repeat(200)}}`,
      { message: expect.stringContaining('deep') },
    ],
  ];
  for (const [text, fault] of faults)
    await expect(parser.parse(Buffer.from(text))).rejects.toMatchObject(fault);
});
