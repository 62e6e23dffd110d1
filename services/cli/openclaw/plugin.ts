import { fileURLToPath } from 'node:url';
import { defined } from '../../../shared/lang/defined.ts';
import { isObject } from '../../../shared/lang/json.ts';
import { type Json, objectAt } from './json.ts';

/** The plugin's name in OpenClaw's settings. */
export const PLUGIN = 'rl-training-headers';
/** Its folder in this checkout. */
export const pluginFolder = fileURLToPath(new URL(`../../../infra/openclaw/${PLUGIN}`, import.meta.url));

/**
 * Adds the plugin to the settings: loaded from a folder, switched on, and with access to conversations, which
 * it needs to know whose words a request answers. Other settings stay.
 */
export function withPlugin(settings: Json, folder: string): Json {
  const plugins = objectAt(settings, 'plugins');
  const { load, allow } = { load: objectAt(plugins, 'load'), allow: plugins.allow };
  const entries = objectAt(plugins, 'entries');
  const entry = objectAt(entries, PLUGIN);
  return {
    ...settings,
    plugins: {
      ...plugins,
      ...defined({ allow: Array.isArray(allow) ? withItem(allow, PLUGIN) : undefined }),
      load: { ...load, paths: withItem(Array.isArray(load.paths) ? load.paths : [], folder) },
      entries: {
        ...entries,
        [PLUGIN]: {
          ...entry,
          enabled: true,
          hooks: { ...objectAt(entry, 'hooks'), allowConversationAccess: true },
        },
      },
    },
  };
}

const withItem = (all: readonly unknown[], item: string): readonly unknown[] =>
  all.includes(item) ? all : [...all, item];

/** State of the plugin in the settings; undefined: not configured. */
export function pluginState(settings: Json): 'on' | 'off' | 'not-allowed' | undefined {
  const plugins = objectAt(settings, 'plugins');
  const entry = objectAt(plugins, 'entries')[PLUGIN];
  if (!isObject(entry)) return undefined;
  if (entry.enabled === false || plugins.enabled === false) return 'off';
  return objectAt(entry, 'hooks').allowConversationAccess === true ? 'on' : 'not-allowed';
}
