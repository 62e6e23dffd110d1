import { createInterface } from 'node:readline/promises';
import { type Command, UsageError } from '../command.ts';
import { endpointSettings } from '../config.ts';
import { firstModel } from '../openclaw/ask-server.ts';
import { openClawFile } from '../openclaw/config.ts';
import { modelFor } from '../openclaw/model-for.ts';
import { type OpenClawModel, PROVIDER, withProvider } from '../openclaw/settings.ts';
import { planSettings, writePlan } from '../openclaw/write-settings.ts';
import { readOptions, splitAction } from '../options.ts';
import { endpointOf } from '../up/readiness.ts';

const options = {
  write: { type: 'boolean' },
  yes: { type: 'boolean' },
  file: { type: 'string' },
  url: { type: 'string' },
  key: { type: 'string' },
} as const;

export const openclaw: Command = {
  name: 'openclaw',
  usage: 'config [--write]',
  about: 'what OpenClaw has to be told to use the server that runs',
  details: [
    ['config', 'prints it: base URL, key, model, context'],
    ['--write', "puts it into OpenClaw's own file, after asking; the file as it was is kept beside it"],
    ['--yes', 'does not ask'],
    ['--file FILE', 'instead of ~/.openclaw/openclaw.json or what OPENCLAW_CONFIG_PATH names'],
    ['--url URL', 'of the endpoint; from CLAWLOOP_SERVING_HOST and _PORT unless told'],
    ['--key KEY', 'access key; CLAWLOOP_SERVING_API_KEY unless told'],
  ],
  run: async (argv) => {
    const { action, rest } = splitAction(argv, 'config');
    const { values } = readOptions(rest, options);
    if (action !== 'config') throw new UsageError(`openclaw ${action}? one of: config`);
    const { model, notes } = await ofRunningServer(values.url ?? endpointOf().url, values.key);
    for (const note of notes) console.error(note);
    if (values.write === true) return write(values.file ?? openClawFile(), model, values.yes === true);
    print(model);
    return 0;
  },
};

const print = (model: OpenClawModel) => console.log(JSON.stringify(withProvider({}, model), null, 2));

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

async function write(file: string, model: OpenClawModel, isSure: boolean): Promise<number> {
  const plan = await planSettings(file, model);
  if (plan.kind === 'nothing') {
    console.log(`${file} says so already`);
    return 0;
  }
  if (plan.kind === 'by-hand') {
    console.error(`${file} would lose something if it were written (comments, say). Add this by hand:`);
    print(model);
    return 1;
  }
  const what = `${PROVIDER} as a provider, and ${PROVIDER}/${model.id} as the model that agents use`;
  if (!isSure && !(await agrees(`${plan.file}: write ${what}? [y/N] `))) {
    console.error('Nothing was written. It would be:');
    print(model);
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
