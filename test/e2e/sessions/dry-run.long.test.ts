import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clawloop } from '../harness/clawloop.ts';

let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), 'clawloop-dry-run-'));
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

const folders = async () => (await readdir(temporary)).filter((name) => name.startsWith('clawloop-demo-'));

test('a dry run shows every stage in order, and leaves nothing behind', async () => {
  const argv = ['test', 'rollout', '--judge-votes', '1'];
  const { code, stdout, stderr } = await clawloop(argv, { TMPDIR: temporary });
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
  expect(await folders()).toEqual([]);
});
