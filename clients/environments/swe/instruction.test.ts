import { expect, test } from 'vitest';
import { instructionText } from './instruction.ts';
import { python } from './python.ts';
import { asWritten } from './write-task.ts';

test('the instruction shows what fails, but no line of a source file', () => {
  const failToPass = Array.from({ length: 10 }, (_, index) => `tests/test_a.py::test_${index}`);
  const failed = new Map([
    [failToPass[0]!, 'E at pkg/core.py:12: assert 1 == 2\n  File "pkg/core.py", line 12'],
  ]);
  const text = instructionText({
    title: 'pkg 1.0',
    toolchain: python,
    verdict: { failToPass, passToPass: ['x'] },
    withBug: { passed: new Set(), failed },
  });
  expect(text).toContain('test_0');
  expect(text).toContain('assert 1 == 2');
  expect(text).not.toContain('12');
  expect(text).toContain('and 2 more');
  expect(text).not.toContain('test_8');
});

test("ids are written as Python's JSON writes them", () => {
  expect(asWritten('a[é "😀"]')).toBe('"a[\\u00e9 \\"\\ud83d\\ude00\\"]"');
});
