import { expect, test } from 'vitest';
import { withoutContextBlocks } from './context-blocks.ts';
import { normaliseMessage, userWords } from './normalise.ts';

const mark = '⟦openclaw:ctx⟧';
const who = `Conversation info: ${mark}\n\`\`\`json\n{\n  "chat_id": "telegram:1",\n  "sender": {"name": "Ann"}\n}\n\`\`\``;
const lately = `Recent messages: ${mark}\n#1 Bob: hello all\n#2 Ann: hi Bob`;

test('channel details are not the words of the person', () => {
  expect(withoutContextBlocks(`${who}\n\n${lately}\n\nWhat is\nfor lunch?`)).toBe('What is\nfor lunch?');
  expect(withoutContextBlocks(`What is for lunch?\n\nContext: ${mark}\nSomething else`)).toBe(
    'What is for lunch?',
  );
  expect(withoutContextBlocks('Conversation info:\nnone')).toBe('Conversation info:\nnone');
  expect(withoutContextBlocks(`${mark}\nis odd`)).toBe(`${mark}\nis odd`);
  expect(withoutContextBlocks(`${who.slice(0, -3)}\nnever closed`)).toBe('');
});

test('dates and the Runtime line make no difference', () => {
  const runtime = '\n\nRuntime: agent=main | session=agent:main:a | sessionId=a';
  for (const content of [
    `[Sat 2026-11-21 00:26 UTC] ${who}\n\nLunch?${runtime}`,
    `${who}\n\n[Sat 2026-11-21 00:26 UTC] Lunch?${runtime}`,
    `${who}\n\nLunch?\n\nContext: ${mark}\nmore${runtime}`,
  ]) {
    expect(userWords({ role: 'user', content })).toBe('Lunch?');
    expect(normaliseMessage({ role: 'user', content })).toEqual(
      normaliseMessage({ role: 'user', content: 'Lunch?' }),
    );
  }
});

test('adversarial texts take linear time', () => {
  const start = process.threadCpuUsage();
  for (const line of [`a ${mark}`, `a ${mark}\n\`\`\`json`, `a ${mark}\n`])
    withoutContextBlocks(`${line}\n`.repeat(50_000));
  const { user: spent } = process.threadCpuUsage(start); // microseconds, whatever else the machine does
  expect(spent).toBeLessThan(5_000_000);
});
