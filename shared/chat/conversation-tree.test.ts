import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parentsOf, placeInTree, type TreeNode } from './conversation-tree.ts';
import type { ChatMessage } from './message.ts';
import { nextHash, rollingHashes } from './rolling-hash.ts';

const user = (content: string): ChatMessage => ({ role: 'user', content });
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content });

const call: ChatMessage = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
};
const result = (content: string): ChatMessage => ({ role: 'tool', content, tool_call_id: 'c' });

/** `u` and `a` in turns, the answer last: 'hi|hello|and?|well'. An `a` of CALL is one, and has a result next. */
function node(id: string, order: number, said: string, more: Partial<TreeNode> = {}): TreeNode {
  const all = said.split('|').map((word, index, words) => {
    if (index % 2 === 1) return word === 'CALL' ? call : assistant(word);
    return words[index - 1] === 'CALL' ? result(word) : user(word);
  });
  const [messages, answer] = [all.slice(0, -1), all.at(-1)!];
  const hashes = rollingHashes(messages);
  return { id, order, ...placeInTree(messages, hashes, nextHash(hashes.at(-1)!, answer), answer), ...more };
}
const parents = (...nodes: readonly TreeNode[]) => Object.fromEntries(parentsOf(nodes));

test('a chain, and its branches', () => {
  expect(
    parents(
      node('a', 0, 'hi|hello'),
      node('b', 1, 'hi|hello|and?|well'),
      node('c', 2, 'hi|hello|but?|no'),
      node('d', 3, 'hi|hello|and?|well|so|yes'),
    ),
  ).toEqual({ a: null, b: 'a', c: 'a', d: 'b' });
});

test('other first words, or a request that extends nothing, begin another tree', () => {
  expect(parents(node('a', 0, 'hi|hello'), node('b', 1, 'ho|hello'), node('c', 2, 'x|y|z|w'))).toEqual({
    a: null,
    b: null,
    c: null,
  });
});

test('an answer changed by the client is not a parent; the one before it is', () => {
  expect(
    parents(
      node('a', 0, 'hi|hello'),
      node('b', 1, 'hi|hello|and?|well'),
      node('c', 2, 'hi|hello|and?|WELL|so|yes'),
    ),
  ).toEqual({ a: null, b: 'a', c: 'a' });
});

test('among equal answers the latest earlier one is the parent', () => {
  expect(
    parents(
      node('a', 0, 'hi|hello'),
      node('b', 1, 'hi|hello'),
      node('c', 2, 'hi|hello|and?|well'),
      node('d', 3, 'hi|hello'),
    ),
  ).toEqual({ a: null, b: null, c: 'b', d: null });
});

test('a client that drops tool calls continues from their answer', () => {
  expect(
    parents(
      node('a', 0, 'hi|hello'),
      node('b', 1, 'hi|hello|cold?|CALL'),
      node('c', 2, 'hi|hello|cold?|CALL|4|CALL'),
      node('d', 3, 'hi|hello|cold?|CALL|4|CALL|5|yes'),
      node('e', 4, 'hi|hello|cold?|yes|thanks|welcome'),
      node('f', 5, 'hi|hello|cold?|CALL|4|CALL|5|yes|thanks|you too'),
    ),
  ).toEqual({ a: null, b: 'a', c: 'b', d: 'c', e: 'd', f: 'd' });
});

test('a node that overtook its parent still finds it', () => {
  expect(parents(node('b', 0, 'hi|hello|and?|well'), node('a', 1, 'hi|hello'))).toEqual({ a: null, b: 'a' });
});

test('a cut history continues from the only answer like its last', () => {
  const cut = node('c', 2, 'summary|hello|and?|well', { cut: 'h' });
  const a = node('a', 0, 'hi|hello', { answer: 'h' });
  expect(parents(a, cut)).toEqual({ a: null, c: 'a' });
  expect(parents(a, node('b', 1, 'ho|hello', { answer: 'h' }), cut)).toEqual({ a: null, b: null, c: null });
});

test('no history has a cycle, whatever clients repeat, empty or cut', () => {
  const word = fc.constantFrom('', 'x', 'y', 'CALL');
  const said = fc.array(word, { minLength: 2, maxLength: 8 }).map((words) => words.join('|'));
  const one = fc.record({ said, cut: fc.option(word), answer: fc.option(word) });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 12 }), (all) => {
      const nodes = all.map((each, index) =>
        node(String(index), index, each.said, {
          cut: each.cut ?? undefined,
          answer: each.answer ?? undefined,
        }),
      );
      const found = parentsOf(nodes);
      for (const id of found.keys()) {
        const seen = new Set<string>();
        for (let at: string | null = id; at !== null; at = found.get(at)!) {
          expect(seen.has(at)).toBe(false);
          seen.add(at);
        }
      }
    }),
    { seed: 1 },
  );
});
