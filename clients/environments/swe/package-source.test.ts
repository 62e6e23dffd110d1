import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readSpecification } from './package-source.ts';
import { python } from './python.ts';
import { findExpression, isTestFile } from './toolchain.ts';

test('packages are named with an exact version, or are folders', () => {
  expect(readSpecification('pypi:parse==1.20.2')).toEqual({ from: 'pypi', name: 'parse', version: '1.20.2' });
  expect(readSpecification('npm:@a/b@1.0.0-rc.1')).toEqual({
    from: 'npm',
    name: '@a/b',
    version: '1.0.0-rc.1',
  });
  expect(readSpecification('my/package')).toEqual({ from: 'folder', path: resolve('my/package') });
  for (const text of ['pypi:parse', 'npm:left-pad', 'pypi:a==1; rm', 'npm:--x@1'])
    expect(() => readSpecification(text), text).toThrow(/exact version/);
});

test('tests and their configuration are separated from the program', () => {
  const paths = ['tests/data/a.txt', 'pkg/test_a.py', 'conftest.py', 'pkg/tests/x.py', 'pyproject.toml'];
  expect(paths.filter((path) => !isTestFile(python, path))).toEqual([]);
  expect(['pkg/contest.py', 'pkg/testing.py', 'setup.py'].filter((path) => isTestFile(python, path))).toEqual(
    [],
  );
  expect(findExpression(python)).toContain("-name 'conftest.py'");
});

test('an agent may change a whole Python package, or a module of its own', () => {
  const files = new Set(['src/pkg/__init__.py', 'src/pkg/sub/a.py', 'one.py']);
  expect(python.rootOf('src/pkg/sub/a.py', files)).toBe('src/pkg');
  expect(python.rootOf('one.py', files)).toBe('one.py');
});
