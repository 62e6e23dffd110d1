import { expect, test } from 'vitest';
import { formatBlocks } from './turn-blocks.ts';

test('a block shows its facts, then its texts cut to the width; empty ones are left out', () => {
  const block = {
    facts: ['08:40:17', 'v0', '', 'trained in v1'],
    texts: { asked: 'How do I pack\nfor a weekend trip?', answered: '', turn: 'chatcmpl-1' },
  };
  expect(formatBlocks([block, block], 32)).toBe(
    [
      '08:40:17  v0  trained in v1',
      '  asked     How do I pack for a…',
      '  turn      chatcmpl-1',
      '',
      '08:40:17  v0  trained in v1',
      '  asked     How do I pack for a…',
      '  turn      chatcmpl-1',
    ].join('\n'),
  );
});
