import { expect, test } from 'vitest';
import { chatMessage } from '../events/chat-message.ts';
import { contentText, isHuman, isInternalContext, isSystem } from './message.ts';

test('unknown fields are kept', () => {
  const message = {
    role: 'user',
    content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }],
    refusal: null,
  };
  expect(chatMessage.parse(message)).toEqual(message);
});

test('every kind of content has a text', () => {
  expect(contentText('a')).toBe('a');
  expect(contentText(null)).toBe('');
  expect(contentText(undefined)).toBe('');
  const image = { type: 'image_url', image_url: { url: 'data:' } };
  expect(
    contentText([{ type: 'text', text: 'a' }, image, { type: 'text', text: 'b' }, { type: 'text' }]),
  ).toBe('ab');
});

test('internal context is distinguished from the words of a person', () => {
  const text = '<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nsessions: none\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>';
  expect(isInternalContext({ role: 'user', content: text })).toBe(true);
  expect(isInternalContext({ role: 'user', content: [{ type: 'text', text }] })).toBe(true);
  expect(isHuman({ role: 'user', content: text })).toBe(false);
  expect(isHuman({ role: 'user', content: `What does ${text} mean?` })).toBe(true);
  expect(isInternalContext({ role: 'tool', content: text })).toBe(false);
  const again =
    'Continue the current task from the existing transcript, preserving completed work. And so on.';
  expect(isInternalContext({ role: 'user', content: again })).toBe(true);
  expect(isInternalContext({ role: 'user', content: `[Sat 2026-11-21 17:18 UTC] ${again}` })).toBe(true);
  expect(isHuman({ role: 'user', content: `They say: ${again}` })).toBe(true);
  expect(isSystem({ role: 'developer', content: 'x' })).toBe(true);
});
