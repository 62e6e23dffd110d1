import { expect, test } from 'vitest';
import { openClawFile } from './config.ts';
import { modelFor } from './model-for.ts';
import { parsePlain, primaryModel, providersIn, withProvider } from './settings.ts';

const model = {
  baseUrl: 'http://127.0.0.1:8700/v1',
  apiKey: 'local',
  id: 'clawloop',
  contextWindow: 32_768,
  maxTokens: 512,
};

test('the provider is added, its model is used, and other settings stay', () => {
  const before = {
    gateway: { port: 1 },
    models: { mode: 'merge', providers: { other: { baseUrl: 'http://x/v1' } } },
    agents: {
      list: [1],
      defaults: { skipBootstrap: true, model: { primary: 'other/m', fallbacks: ['a/b'] } },
    },
  };
  const after = withProvider(before, model);
  expect(after).toMatchObject({
    gateway: { port: 1 },
    models: { mode: 'merge', providers: { other: { baseUrl: 'http://x/v1' } } },
    agents: {
      list: [1],
      defaults: { skipBootstrap: true, model: { primary: 'clawloop/clawloop', fallbacks: ['a/b'] } },
    },
  });
  expect(primaryModel(before)).toBe('other/m');
  expect(primaryModel(after)).toBe('clawloop/clawloop');
  expect(primaryModel({ agents: { defaults: { model: 'a/b' } } })).toBe('a/b');
  expect(primaryModel({})).toBeUndefined();
  expect(withProvider(after, model)).toEqual(after);
  expect(withProvider({ agents: { defaults: { model: 'a/b' } } }, model)).toMatchObject({
    agents: { defaults: { model: { primary: 'clawloop/clawloop' } } },
  });
});

test('a written provider is read back', () => {
  const { baseUrl, apiKey, id, contextWindow } = model;
  expect(providersIn(withProvider({}, model))).toEqual([
    { name: 'clawloop', baseUrl, apiKey, models: [{ id, contextWindow }] },
  ]);
  expect(providersIn({ models: { providers: { odd: 3, none: {}, bare: { baseUrl: 'u' } } } })).toEqual([
    { name: 'bare', baseUrl: 'u', apiKey: undefined, models: [] },
  ]);
});

test('a file is plain only if rewriting it loses nothing', () => {
  expect(parsePlain('{"a": [1, 0.5, -2], "b": {"c": null}}')).toEqual({ a: [1, 0.5, -2], b: { c: null } });
  for (const text of [
    '{"a": 1} // mine',
    '{a: 1}',
    '{"a": 1,}',
    '[1]',
    '',
    '{"id": 123456789012345678901}',
    '{"ratio": 1.0}',
    '{"$include": "other.json"}',
  ])
    expect(parsePlain(text), text).toBeUndefined();
});

test('context and longest answer follow from the model and its context mode', () => {
  const of = (
    contextTokens: number | undefined,
    mode: 'window' | 'error' | undefined,
    systemBudget?: number,
  ) => {
    const served = { id: 'm', contextTokens, mode, systemBudget };
    const { model: written, notes } = modelFor(served, 'u', undefined);
    return [written.contextWindow, written.maxTokens, notes.length];
  };
  expect(of(2_048, 'window')).toEqual([32_768, 512, 0]);
  expect(of(2_048, 'window', 64)).toEqual([32_768, 512, 1]);
  expect(of(131_072, 'window')).toEqual([131_072, 8_192, 0]);
  expect(of(40_960, 'error')).toEqual([40_960, 8_192, 0]);
  expect(of(8_192, 'error')).toEqual([8_192, 2_048, 1]);
  expect(of(undefined, undefined)).toEqual([32_768, 8_192, 1]);
});

test("OpenClaw's own variables locate its settings file", () => {
  expect(openClawFile({ OPENCLAW_CONFIG_PATH: '/a/b.json', OPENCLAW_STATE_DIR: '/c' })).toBe('/a/b.json');
  expect(openClawFile({ OPENCLAW_STATE_DIR: '/c' })).toBe('/c/openclaw.json');
  expect(openClawFile({})).toMatch(/\.openclaw\/openclaw\.json$/);
});
