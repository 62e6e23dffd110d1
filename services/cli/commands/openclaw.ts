import { UsageError } from '../../../shared/runtime/command-errors.ts';
import type { Command } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { confirm } from '../confirm.ts';
import { firstModel } from '../openclaw/ask-server.ts';
import { openClawFile } from '../openclaw/config.ts';
import type { Json } from '../openclaw/json.ts';
import { modelFor } from '../openclaw/model-for.ts';
import { pluginFolder, withPlugin } from '../openclaw/plugin.ts';
import { PROVIDER, withProvider } from '../openclaw/settings.ts';
import { planSettings, writePlan } from '../openclaw/write-settings.ts';
import { readOptions, splitAction } from '../options.ts';
import { endpointHere } from '../up/endpoint-here.ts';

const options = {
  write: { type: 'boolean' },
  plugin: { type: 'boolean' },
  yes: { type: 'boolean' },
  file: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

export const openclaw: Command = {
  name: 'openclaw',
  usage: 'config [--plugin] [--write]',
  about: 'OpenClaw settings for the running server',
  details: [
    ['config', 'print the settings: base URL, key, model, context'],
    ['--plugin', 'add the plugin that marks sessions and turn types, loaded from this checkout'],
    ['--write', "write to OpenClaw's settings file, after confirmation; keeps a backup beside it"],
    ['--yes', 'write without confirmation'],
    ['--file FILE', 'settings file; default: OPENCLAW_CONFIG_PATH or ~/.openclaw/openclaw.json'],
    ['--url URL', 'URL of the endpoint; default: the server of the data folder'],
    ['--key KEY', 'access key; default: CLAWLOOP_SERVING_API_KEY'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'config');
    const { values, settings } = readOptions(rest, options);
    if (action !== 'config') throw new UsageError(`unknown action '${action}'; one of: config`);
    const url = values.url ?? endpointHere(settings.dataFolder);
    const { model, notes } = await modelOfServer(url, values.key);
    for (const note of notes) console.error(note);
    const withModel: Change = (settings) => withProvider(settings, model);
    const change: Change =
      values.plugin === true ? (settings) => withPlugin(withModel(settings), pluginFolder) : withModel;
    if (values.write !== true) {
      print(change);
      return 0;
    }
    const provider = `${PROVIDER} as a provider, and ${PROVIDER}/${model.id} as the model of all agents`;
    const changes = values.plugin === true ? `${provider}, and the plugin in ${pluginFolder}` : provider;
    return write(values.file ?? openClawFile(), change, changes, values.yes === true);
  },
};

type Change = (settings: Json) => Json;

const print = (change: Change) => console.log(JSON.stringify(change({}), null, 2));

/** @throws UsageError when no ClawLoop answers, or the key is missing or wrong */
async function modelOfServer(url: string, keyFlag: string | undefined) {
  const baseUrl = `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
  const key = keyFlag ?? endpointSettings([]).apiKey;
  const answer = await firstModel(baseUrl, key);
  switch (answer.kind) {
    case 'silent':
      throw new UsageError(`nothing answers at ${baseUrl}: run npm start, or give --url`);
    case 'refused':
      throw new UsageError(
        key === undefined
          ? 'the server requires a key: give --key; `clawloop keys create openclaw` creates one'
          : 'the server rejects this key; `clawloop keys create openclaw` creates a new one',
      );
    case 'unknown':
      throw new UsageError(`the server at ${baseUrl} is not a ClawLoop: status ${answer.status}`);
    case 'answer':
      return modelFor(answer.value, baseUrl, key);
  }
}

async function write(file: string, change: Change, changes: string, isSure: boolean): Promise<number> {
  const plan = await planSettings(file, change);
  if (plan.kind === 'nothing') {
    console.log(`${file} already has these settings`);
    return 0;
  }
  if (plan.kind === 'by-hand') {
    console.error(`${file} cannot be rewritten without loss, for example of comments. Add this by hand:`);
    print(change);
    return 1;
  }
  if (!isSure && !(await confirm(`${plan.file}: add ${changes}? [y/N] `))) {
    const how = process.stdin.isTTY ? '' : ' There is no terminal to ask on: add --yes to write.';
    console.error(`Nothing was written.${how} The settings would be:`);
    print(change);
    return 1;
  }
  const backup = await writePlan(plan, new Date());
  console.log(`wrote ${plan.file}${backup === undefined ? '' : `; backup: ${backup}`}`);
  return 0;
}
