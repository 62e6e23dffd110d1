import { fileURLToPath } from 'node:url';
import { isObject, type Json, objectAt } from './json.ts';

/** The plugin's name in OpenClaw's settings. */
export const PLUGIN = 'rl-training-headers';
/** Where it lies in this checkout. */
export const pluginFolder = fileURLToPath(new URL(`../../../infra/openclaw/${PLUGIN}`, import.meta.url));

/**
 * The settings with the plugin of a folder in them: loaded from there, switched on, and allowed to be told of
 * runs, without which it does not know whose words a request answers. The rest as it was.
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
      ...(Array.isArray(allow) ? { allow: withOne(allow, PLUGIN) } : {}),
      load: { ...load, paths: withOne(Array.isArray(load.paths) ? load.paths : [], folder) },
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

const withOne = (all: readonly unknown[], one: string): readonly unknown[] =>
  all.includes(one) ? all : [...all, one];

/** How the plugin stands in the settings; undefined: not at all. */
export function pluginState(settings: Json): 'on' | 'off' | 'not-allowed' | undefined {
  const plugins = objectAt(settings, 'plugins');
  const entry = objectAt(plugins, 'entries')[PLUGIN];
  if (!isObject(entry)) return undefined;
  if (entry.enabled === false || plugins.enabled === false) return 'off';
  return objectAt(entry, 'hooks').allowConversationAccess === true ? 'on' : 'not-allowed';
}
