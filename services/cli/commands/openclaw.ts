import { createInterface } from 'node:readline/promises';
import { type Command, UsageError } from '../command.ts';
import { endpointSettings } from '../config.ts';
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
  about: 'what OpenClaw has to be told to use the server that runs',
  details: [
    ['config', 'prints it: base URL, key, model, context'],
    ['--plugin', 'and the plugin that tells sessions and turn types itself, loaded from this checkout'],
    ['--write', "puts it into OpenClaw's own file, after asking; the file as it was is kept beside it"],
    ['--yes', 'does not ask'],
    ['--file FILE', 'instead of ~/.openclaw/openclaw.json or what OPENCLAW_CONFIG_PATH names'],
    ['--url URL', 'of the endpoint; where the one of the data folder listens unless told'],
    ['--key KEY', 'access key; CLAWLOOP_SERVING_API_KEY unless told'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'config');
    const { values, settings } = readOptions(rest, options);
    if (action !== 'config') throw new UsageError(`openclaw ${action}? one of: config`);
    const url = values.url ?? endpointHere(settings.dataFolder);
    const { model, notes } = await ofRunningServer(url, values.key);
    for (const note of notes) console.error(note);
    const withModel: Change = (settings) => withProvider(settings, model);
    const change: Change =
      values.plugin === true ? (settings) => withPlugin(withModel(settings), pluginFolder) : withModel;
    if (values.write !== true) {
      print(change);
      return 0;
    }
    const provider = `${PROVIDER} as a provider, and ${PROVIDER}/${model.id} as the model that agents use`;
    const what = values.plugin === true ? `${provider}, and the plugin of ${pluginFolder}` : provider;
    return write(values.file ?? openClawFile(), change, what, values.yes === true);
  },
};

type Change = (settings: Json) => Json;

const print = (change: Change) => console.log(JSON.stringify(change({}), null, 2));

/** @throws UsageError when nothing answers there, or a key is needed */
async function ofRunningServer(url: string, given: string | undefined) {
  const baseUrl = `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`;
  const key = given ?? endpointSettings([]).apiKey;
  const answer = await firstModel(baseUrl, key);
  switch (answer.kind) {
    case 'silent':
      throw new UsageError(`nothing answers at ${baseUrl}: npm start, or give --url`);
    case 'refused':
      throw new UsageError(
        key === undefined
          ? 'the server wants a key: give --key; `clawloop keys create openclaw` makes one'
          : 'the server does not accept this key; `clawloop keys create openclaw` makes one',
      );
    case 'unknown':
      throw new UsageError(`what answers at ${baseUrl} is no ClawLoop: status ${answer.status}`);
    case 'answer':
      return modelFor(answer.value, baseUrl, key);
  }
}

async function write(file: string, change: Change, what: string, isSure: boolean): Promise<number> {
  const plan = await planSettings(file, change);
  if (plan.kind === 'nothing') {
    console.log(`${file} says so already`);
    return 0;
  }
  if (plan.kind === 'by-hand') {
    console.error(`${file} would lose something if it were written (comments, say). Add this by hand:`);
    print(change);
    return 1;
  }
  if (!isSure && !(await agrees(`${plan.file}: write ${what}? [y/N] `))) {
    console.error('Nothing was written. It would be:');
    print(change);
    return 1;
  }
  const backup = await writePlan(plan, new Date());
  console.log(`${plan.file} is written${backup === undefined ? '' : `; as it was: ${backup}`}`);
  return 0;
}

/** False where nobody can be asked. */
async function agrees(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}
