import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PLUGIN, pluginFolder, pluginState, withPlugin } from './plugin.ts';

test('the plugin comes from this checkout, under its own name', () => {
  const manifest: unknown = JSON.parse(readFileSync(join(pluginFolder, 'openclaw.plugin.json'), 'utf8'));
  expect(manifest).toMatchObject({ id: PLUGIN });
  expect(existsSync(join(pluginFolder, 'index.js'))).toBe(true);
});

test('the plugin is added once, and other settings stay', () => {
  const before = {
    gateway: { port: 1 },
    plugins: {
      allow: ['other'],
      load: { paths: ['/mine'], more: true },
      entries: { other: { enabled: false }, [PLUGIN]: { config: { providers: ['x'] }, enabled: false } },
    },
  };
  expect(pluginState({})).toBeUndefined();
  expect(pluginState(before)).toBe('off');
  const after = withPlugin(before, '/here');
  expect(after).toEqual({
    gateway: { port: 1 },
    plugins: {
      allow: ['other', PLUGIN],
      load: { paths: ['/mine', '/here'], more: true },
      entries: {
        other: { enabled: false },
        [PLUGIN]: { config: { providers: ['x'] }, enabled: true, hooks: { allowConversationAccess: true } },
      },
    },
  });
  expect(withPlugin(after, '/here')).toEqual(after);
  expect(pluginState(after)).toBe('on');
  expect(withPlugin({}, '/here')).not.toHaveProperty('plugins.allow'); // a list would shut out the others
  expect(pluginState({ plugins: { entries: { [PLUGIN]: { enabled: true } } } })).toBe('not-allowed');
});
