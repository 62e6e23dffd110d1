import { readFile } from 'node:fs/promises';
import { defined } from '../../../shared/lang/defined.ts';
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

const WRITE_CONFIG = 'clawloop openclaw config --write';

/** Whether OpenClaw, if it is set up, reaches our server. */
export async function openClawSettings(file: string, endpoint: string): Promise<readonly Finding[]> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return [];
  const settings = parsePlain(text);
  if (settings === undefined)
    return [{ state: 'note', what: `OpenClaw's ${file} is not plain JSON, so it was not checked` }];
  const provider = providersIn(settings).find(
    ({ name, baseUrl }) => name === PROVIDER || baseUrl.startsWith(`${endpoint}/`) || baseUrl === endpoint,
  );
  if (provider === undefined)
    return [{ state: 'note', what: `OpenClaw's ${file} does not name ${endpoint}`, advice: WRITE_CONFIG }];
  return [await checked(provider, primaryModel(settings)), ...plugin(settings)];
}

/** Whether its plugin, if configured, is switched on and has the access it needs. */
function plugin(settings: Json): readonly Finding[] {
  switch (pluginState(settings)) {
    case undefined:
      return [];
    case 'on':
      return [{ state: 'ok', what: `OpenClaw's plugin ${PLUGIN} marks sessions and turn types` }];
    case 'off':
      return [{ state: 'note', what: `OpenClaw's plugin ${PLUGIN} is switched off` }];
    case 'not-allowed': {
      const advice = `openclaw config set plugins.entries.${PLUGIN}.hooks.allowConversationAccess true`;
      return [{ state: 'bad', what: `OpenClaw's plugin ${PLUGIN} has no access to conversations`, advice }];
    }
  }
}

async function checked(provider: FoundProvider, primary: string | undefined): Promise<Finding> {
  const { name, baseUrl, apiKey, models } = provider;
  const model = models.find(({ id }) => `${name}/${id}` === primary) ?? models[0];
  const bad = (what: string, advice?: string): Finding => ({
    state: 'bad',
    what: `OpenClaw's provider ${name}: ${what}`,
    ...defined({ advice }),
  });
  if (model === undefined) return bad('no model is configured', WRITE_CONFIG);
  const { id, contextWindow } = model;
  const isKeyUnknown = apiKey === undefined || apiKey.includes('${'); // a variable of OpenClaw's environment
  const answer = await namedModel(baseUrl.replace(/\/+$/, ''), id, isKeyUnknown ? undefined : apiKey);
  if (answer.kind === 'silent')
    return bad(`nothing answers at ${baseUrl}`, `run npm start, or ${WRITE_CONFIG}`);
  if (answer.kind === 'refused' && isKeyUnknown)
    return {
      state: 'note',
      what: `OpenClaw's provider ${name}: its key is not in the settings file, so ${baseUrl} was not checked`,
    };
  if (answer.kind === 'refused') return bad(`${baseUrl} rejects its key`, 'clawloop keys create openclaw');
  if (answer.kind === 'unknown')
    return bad(`${baseUrl} has no model ${id} (status ${answer.status})`, WRITE_CONFIG);
  if (contextWindow === undefined || contextWindow < LEAST_CONTEXT)
    return bad(
      `contextWindow of ${id} is ${contextWindow ?? 'not set'}; at least ${LEAST_CONTEXT} is needed`,
      WRITE_CONFIG,
    );
  const { contextTokens, mode } = answer.value;
  if (mode === 'error' && contextTokens !== undefined && contextTokens < contextWindow)
    return bad(
      `contextWindow of ${id} is ${contextWindow}, but the model reads ${contextTokens} tokens`,
      `${WRITE_CONFIG}, or start with --context window`,
    );
  return primary === `${name}/${id}`
    ? { state: 'ok', what: `OpenClaw uses ${primary} at ${baseUrl}` }
    : {
        state: 'note',
        what: `OpenClaw has ${name}/${id} at ${baseUrl}, but uses ${primary ?? 'another model'}`,
      };
}
