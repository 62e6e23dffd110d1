import { expect, test } from 'vitest';
import { shownResult } from './tool-result.ts';

test.each([
  ['texts', { content: [text('one'), text('two')] }, 'one\ntwo'],
  ['an image', { content: [{ type: 'image', data: 'AA==', mimeType: 'image/png' }] }, '[image image/png]'],
  [
    'a link',
    { content: [{ type: 'resource_link', uri: 'file:///a', name: 'a', mimeType: 'text/plain' }] },
    '[resource_link file:///a text/plain]',
  ],
  [
    'resources',
    {
      content: [
        { type: 'resource', resource: { uri: 'a:1', text: 'inside' } },
        { type: 'resource', resource: { uri: 'a:2', blob: 'AA==' } },
      ],
    },
    'inside\n[resource a:2]',
  ],
  ['structured content alone', { content: [], structuredContent: { degrees: 3 } }, '{"degrees":3}'],
  ['structured content that is repeated as text', { content: [text('3')], structuredContent: { d: 3 } }, '3'],
  ['kinds of a later revision', { content: [{ type: 'hologram' }] }, '[hologram]'],
  ['nothing', { content: [] }, '[no content]'],
])('a result shows %s', (_, result, content) =>
  expect(shownResult(result)).toEqual({ content, isError: false }),
);

test("a tool's failure is seen, and a very long result is cut", () => {
  expect(shownResult({ content: [text('no such file')], isError: true })).toEqual({
    content: 'no such file',
    isError: true,
  });
  expect(shownResult({ content: [text('a'.repeat(100_002))] }).content).toMatch(/a\n\[2 characters cut\]$/);
});

function text(words: string) {
  return { type: 'text', text: words };
}
