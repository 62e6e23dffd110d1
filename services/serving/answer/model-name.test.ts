import { expect, test } from 'vitest';
import { chooseModel } from './model-name.ts';

const choose = (name: string, strict = false, adapters: readonly string[] = ['alice', 'bob']) =>
  chooseModel(name, { aliases: ['clawloop'], strict, adapters });
const live = (adapter: string) => ({ kind: 'live', adapter });
const version = (adapter: string, number: number) => ({ kind: 'version', adapter, version: number });
const unknown = { kind: 'unknown' };

test('names without @ select the live policy, unless names are strict', () => {
  expect(choose('clawloop')).toEqual(live('alice'));
  expect(choose('qwen3-4b')).toEqual(live('alice'));
  expect(choose('qwen3-4b', true)).toEqual(unknown);
  expect(choose('clawloop', true)).toEqual(live('alice'));
});

test('@base and @v3 select fixed versions', () => {
  for (const name of ['@base', 'clawloop@base', '@v0'])
    expect(choose(name, true)).toEqual(version('alice', 0));
  expect(choose('clawloop@v31')).toEqual(version('alice', 31));
  for (const name of ['@', 'clawloop@', '@v', '@v-1', '@latest', '@v1.5', '@V3'])
    expect(choose(name)).toEqual(unknown);
  expect(choose('other@v3', true)).toEqual(unknown);
  for (const name of ['clawloop@base@v1', '@v1@v2', 'clawloop@@v1']) expect(choose(name)).toEqual(unknown);
  const odd = { aliases: ['claw@home'], strict: true, adapters: ['alice'] };
  expect(chooseModel('claw@home@v1', odd)).toEqual(version('alice', 1));
});

test('a name after a colon selects an adapter that the caller may use', () => {
  for (const strict of [false, true]) {
    expect(choose('clawloop:bob', strict)).toEqual(live('bob'));
    expect(choose('clawloop:alice', strict)).toEqual(live('alice'));
    expect(choose('clawloop:bob@v3', strict)).toEqual(version('bob', 3));
    expect(choose('clawloop:bob@base', strict)).toEqual(version('bob', 0));
    for (const name of ['clawloop:carol', 'clawloop:', 'clawloop:bob:', 'clawloop:Bob', 'clawloop:bob@'])
      expect(choose(name, strict)).toEqual(unknown);
  }
  expect(choose('clawloop', true, ['bob'])).toEqual(live('bob'));
  for (const name of ['clawloop:alice', 'clawloop:alice@v1', 'clawloop:alice@base'])
    expect(choose(name, false, ['bob'])).toEqual(unknown);
});

test('model names of clients and aliases may contain colons', () => {
  expect(choose('qwen2.5:7b')).toEqual(live('alice'));
  expect(choose('other:bob')).toEqual(live('alice'));
  expect(choose('qwen2.5:7b', true)).toEqual(unknown);
  const local = { aliases: ['llama:8b'], strict: true, adapters: ['alice', 'bob'] };
  expect(chooseModel('llama:8b', local)).toEqual(live('alice'));
  expect(chooseModel('llama:8b:bob', local)).toEqual(live('bob'));
});
