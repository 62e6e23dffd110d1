import { expect, test } from 'vitest';
import { chooseModel } from './model-name.ts';

const choose = (name: string, strict = false) => chooseModel(name, ['clawloop'], strict);

test('names without @ are the live policy, unless names are strict', () => {
  expect(choose('clawloop')).toEqual({ kind: 'live' });
  expect(choose('qwen3-4b')).toEqual({ kind: 'live' });
  expect(choose('qwen3-4b', true)).toEqual({ kind: 'unknown' });
  expect(choose('clawloop', true)).toEqual({ kind: 'live' });
});

test('@base and @v3 are versions of their own', () => {
  for (const name of ['@base', 'clawloop@base', '@v0'])
    expect(choose(name, true)).toEqual({ kind: 'version', version: 0 });
  expect(choose('clawloop@v31')).toEqual({ kind: 'version', version: 31 });
  for (const name of ['@', 'clawloop@', '@v', '@v-1', '@latest', '@v1.5', '@V3'])
    expect(choose(name)).toEqual({ kind: 'unknown' });
  expect(choose('other@v3', true)).toEqual({ kind: 'unknown' });
  for (const name of ['clawloop@base@v1', '@v1@v2', 'clawloop@@v1'])
    expect(choose(name)).toEqual({ kind: 'unknown' });
  expect(chooseModel('claw@home@v1', ['claw@home'], true)).toEqual({ kind: 'version', version: 1 });
});
