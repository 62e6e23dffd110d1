import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { root } from './node-path.js';

const pretendsToBe = (version: string) =>
  `data:text/javascript,Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;

test('vitest on an old Node prints one line that says what to run', () => {
  const argv = ['--import', pretendsToBe('20.19.0'), 'node_modules/vitest/vitest.mjs', 'run', 'no-such-test'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(
    /^The tests need Node 24 or newer, and this is 20\.19\.0\. Run `npm test -- FILE` [^\n]*\n$/,
  );
});
