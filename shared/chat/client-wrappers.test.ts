import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withoutWrappers } from './client-wrappers.ts';
import type { ChatMessage } from './message.ts';

const user = (content: ChatMessage['content']): ChatMessage => ({ role: 'user', content });
const text = (words: string) => ({ type: 'text', text: words });
const runtime = 'Runtime: agent=main | session=a:b | host=house | model=tier/m';

test.each<[string, ChatMessage['content'], ChatMessage['content']]>([
  ['a date and a line on the runtime', `[Mon 2026-11-23 07:49 UTC] Hi there.\n\n${runtime}`, 'Hi there.'],
  ['a line on the runtime as a part', [text('Hi'), text(runtime)], [text('Hi')]],
  ['reminders', [text('<system-reminder>\nBe kind.\n</system-reminder>\n'), text('Hi')], [text('Hi')]],
  [
    'blocks before the words',
    '<system-reminder>a</system-reminder>\n<env_info kind="x">\nb\n</env_info>\nHi',
    'Hi',
  ],
])('%s goes, the words stay', (_, written, left) => {
  expect(withoutWrappers(user(written))).toEqual(user(left));
});

test.each<[string, ChatMessage]>([
  ['plain words', user('  What is <b>bold</b>?\n')],
  ['markup that a person asks about', user('<div>\na\n</div>\nWhy is this red?')],
  ['the block that holds the words', user('<user_query>\nHi\n</user_query>')],
  ['a block that does not end', user('<system-reminder> Hi')],
  ['an image', user([{ type: 'image_url', image_url: { url: 'x' } }, text('What is it?')])],
  ['nothing', user('')],
  ['an answer', { role: 'assistant', content: `<system-reminder>a</system-reminder> ${runtime}` }],
  ['a result', { role: 'tool', content: runtime, tool_call_id: 'c' }],
])('%s stays as it is', (_, message) => {
  expect(withoutWrappers(message)).toBe(message);
});

test('a message written entirely by a client is dropped', () => {
  expect(
    withoutWrappers(user('<environment_context>\n<cwd>/a</cwd>\n</environment_context>')),
  ).toBeUndefined();
  const internal = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nit is noon\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
  expect(withoutWrappers(user([text(internal)]))).toBeUndefined();
});

test('system text lines that change between requests are removed', () => {
  const content = `x-anthropic-billing-header: v=1.b0a;\nYou help.\n${runtime}`;
  expect(withoutWrappers({ role: 'system', content })).toEqual({ role: 'system', content: 'You help.' });
});

test('many blocks take linear time', () => {
  const many = '<a-b>'.repeat(200_000);
  const closed = `${'<a-b>x</a-b>\n'.repeat(200_000)}Hi`;
  const started = performance.now();
  expect(withoutWrappers(user(many))).toEqual(user(many));
  expect(withoutWrappers(user(closed))).toEqual(user('Hi'));
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('the words of a person stay, whatever surrounds them', () => {
  const before = fc.constantFrom('<a-b>x</a-b>', '<a-b k="v">x\n</a-b>\n', '\n', '<div> ', '</a-b>', ' ');
  const after = fc.constantFrom(' <a-b>x</a-b>', '\n', `\n\n${runtime}`, ' <a-b>', '.');
  fc.assert(
    fc.property(fc.array(before, { maxLength: 8 }), fc.array(after, { maxLength: 4 }), (first, last) => {
      const left = withoutWrappers(user(`${first.join('')}What is new?${last.join('')}`));
      expect(left?.content).toContain('What is new?');
    }),
    { seed: 11, numRuns: 1000 },
  );
});
