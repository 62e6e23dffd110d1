import { readFile } from 'node:fs/promises';
import { namedModel } from '../openclaw/ask-server.ts';
import type { Json } from '../openclaw/json.ts';
import { PLUGIN, pluginState } from '../openclaw/plugin.ts';
import {
  type FoundProvider,
  LEAST_CONTEXT,
  PROVIDER,
  parsePlain,
  primaryModel,
  providersIn,
} from '../openclaw/settings.ts';
import type { Finding } from './checks.ts';

const MAKE = 'clawloop openclaw config --write';

/** Whether OpenClaw, where it is set up, reaches a server of ours; says nothing where there is no OpenClaw. */
export async function openClawSettings(file: string, endpoint: string): Promise<readonly Finding[]> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return [];
  const settings = parsePlain(text);
  if (settings === undefined)
    return [{ state: 'note', what: `OpenClaw's ${file} is not plain JSON, and was not looked into` }];
  const provider = providersIn(settings).find(
    ({ name, baseUrl }) => name === PROVIDER || baseUrl.startsWith(`${endpoint}/`) || baseUrl === endpoint,
  );
  if (provider === undefined)
    return [{ state: 'note', what: `OpenClaw's ${file} does not name ${endpoint}`, advice: MAKE }];
  return [await checked(provider, primaryModel(settings)), ...plugin(settings)];
}

/** Whether its plugin, where it is named, is one that says whose words a request answers. */
function plugin(settings: Json): readonly Finding[] {
  switch (pluginState(settings)) {
    case undefined:
      return [];
    case 'on':
      return [{ state: 'ok', what: `OpenClaw's plugin ${PLUGIN} tells sessions and turn types` }];
    case 'off':
      return [{ state: 'note', what: `OpenClaw's plugin ${PLUGIN} is switched off` }];
    case 'not-allowed': {
      const advice = `openclaw config set plugins.entries.${PLUGIN}.hooks.allowConversationAccess true`;
      return [{ state: 'bad', what: `OpenClaw's plugin ${PLUGIN} is not told of runs`, advice }];
    }
  }
}

async function checked(provider: FoundProvider, primary: string | undefined): Promise<Finding> {
  const { name, baseUrl, apiKey, models } = provider;
  const model = models.find(({ id }) => `${name}/${id}` === primary) ?? models[0];
  const bad = (what: string, advice?: string): Finding => ({
    state: 'bad',
    what: `OpenClaw's provider ${name}: ${what}`,
    ...(advice === undefined ? {} : { advice }),
  });
  if (model === undefined) return bad('it has no model', MAKE);
  const { id, contextWindow } = model;
  const isElsewhere = apiKey === undefined || apiKey.includes('${'); // an environment variable of OpenClaw's
  const answer = await namedModel(baseUrl.replace(/\/+$/, ''), id, isElsewhere ? undefined : apiKey);
  if (answer.kind === 'silent') return bad(`nothing answers at ${baseUrl}`, `npm start, or ${MAKE}`);
  if (answer.kind === 'refused' && isElsewhere)
    return {
      state: 'note',
      what: `OpenClaw's provider ${name}: its key stands elsewhere, and was not tried at ${baseUrl}`,
    };
  if (answer.kind === 'refused')
    return bad(`its key is not accepted at ${baseUrl}`, 'clawloop keys create openclaw');
  if (answer.kind === 'unknown')
    return bad(`${baseUrl} knows no model ${id} (status ${answer.status})`, MAKE);
  if (contextWindow === undefined || contextWindow < LEAST_CONTEXT)
    return bad(`contextWindow of ${id} is ${contextWindow ?? 'not set'}; it needs ${LEAST_CONTEXT}`, MAKE);
  const { contextTokens, mode } = answer.value;
  if (mode === 'error' && contextTokens !== undefined && contextTokens < contextWindow)
    return bad(
      `contextWindow of ${id} is ${contextWindow}, but the model reads ${contextTokens} tokens`,
      `${MAKE}, or start with --context window`,
    );
  return primary === `${name}/${id}`
    ? { state: 'ok', what: `OpenClaw uses ${primary} at ${baseUrl}` }
    : { state: 'note', what: `OpenClaw knows ${name}/${id} at ${baseUrl}, but uses ${primary ?? 'another'}` };
}
