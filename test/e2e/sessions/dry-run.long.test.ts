import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';

const folders = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('clawloop-demo-'));

test('a dry run shows every stage in order, and leaves nothing behind', async () => {
  const before = await folders();
  const { code, stdout, stderr } = await clawloop(['test', 'rollout', '--judge-votes', '1']);
  expect(code, stdout + stderr).toBe(0);
  const stages = stdout
    .trim()
    .split('\n')
    .map((line) => /^ *[\d.]+ s {2}(\w+)/.exec(line)![1]!);
  const firsts = [
    'server',
    'request',
    'answer',
    'turn',
    'vote',
    'judgment',
    'sample',
    'batch',
    'step',
    'gate',
  ];
  expect([...new Set(stages)].filter((name) => name !== 'loaded')).toEqual(firsts);
  // a candidate that the gate rejects is a result, too
  expect(stdout).toMatch(
    / gate +promoted: v1 is the head[\s\S]* loaded +v1 answers[\s\S]* answer +\S+: v1,| gate +rejected: /,
  );
  expect(stages.at(-1)).toBe('server');
  expect((await folders()).filter((name) => !before.includes(name))).toEqual([]);
});
