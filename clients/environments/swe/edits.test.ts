import { expect, test } from 'vitest';
import { applyEdit, type Edit, orderOfTrials } from './edit.ts';
import { javaScriptEdits } from './javascript-edits.ts';

const changed = (text: string): readonly string[] =>
  javaScriptEdits('a.js', text).map((edit) => `${edit.modifier}: ${applyEdit(text, edit)}`);

test('operators, numbers and conditions of functions change', () => {
  expect(changed('const f = (a) => (a) < 3;')).toEqual([
    'change-constant: const f = (a) => (a) < 4;',
    'flip-comparison: const f = (a) => (a) >= 3;',
    'off-by-one: const f = (a) => (a) <= 3;',
  ]);
  expect(changed('const f = (a, b) => a - b;')).toEqual([
    'change-operator: const f = (a, b) => a + b;',
    'swap-operands: const f = (a, b) => b - a;',
  ]);
  expect(changed('const f = (a) => (a && true ? "1" : "2");')).toEqual(
    expect.arrayContaining([
      'invert-condition: const f = (a) => (!(a && true) ? "1" : "2");',
      'change-operator: const f = (a) => (a || true ? "1" : "2");',
      'change-constant: const f = (a) => (a && false ? "1" : "2");',
    ]),
  );
});

test('statements are left out', () => {
  const found = changed('function f(a) { if (a) return 1; for (const x of a) g(x); a.b = 2; }');
  expect(found).toEqual(
    expect.arrayContaining([
      'remove-conditional: function f(a) { ; for (const x of a) g(x); a.b = 2; }',
      'remove-loop: function f(a) { if (a) return 1; ; a.b = 2; }',
      'remove-assignment: function f(a) { if (a) return 1; for (const x of a) g(x); ; }',
    ]),
  );
});

test('a statement with lines of its own leaves no trace in its block', () => {
  const found = changed('function f(a) {\n  a.b = 2;\n  return a;\n}\n');
  expect(found).toContain('remove-assignment: function f(a) {\n  return a;\n}\n');
});

test('code outside functions stays, and a file that does not parse has no edits', () => {
  expect(changed('const a = 1 + 2;')).toEqual([]);
  expect(changed('const a = (')).toEqual([]);
});

test('a script with CommonJS is changed like a module, and lines are counted from 1', () => {
  const [edit] = javaScriptEdits(
    'a.cjs',
    '#!/usr/bin/env node\nmodule.exports = function () {\n  return 1;\n};\n',
  );
  expect(edit).toMatchObject({ file: 'a.cjs', line: 3, modifier: 'change-constant', replacement: '2' });
});

test('kinds of changes take turns, and a seed gives one order', () => {
  const edits = ['a', 'a', 'a', 'a', 'b', 'c'].map(
    (modifier, start): Edit => ({ file: 'f', modifier, line: 1, start, end: start, replacement: '' }),
  );
  const ordered = orderOfTrials(edits, () => 0.5);
  expect(new Set(ordered.slice(0, 3).map(({ modifier }) => modifier))).toEqual(new Set('abc'));
  expect([...ordered].sort((a, b) => a.start - b.start)).toEqual(edits);
});
