import { until } from '../../e2e/harness/clawloop.ts';
import { type Child, PATIENCE_MS, startChild } from '../child.ts';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';

export const aider: Client = {
  name: 'aider',
  title: 'aider',
  api: 'chat',
  package: {
    registry: 'pypi',
    name: 'aider-chat',
    version: '0.86.2',
    executable: 'aider',
    pythons: ['3.12', '3.11', '3.10'],
  },
  driven: 'a pipe instead of a terminal',
  connect: 'OPENAI_API_BASE=http://127.0.0.1:8700/v1 OPENAI_API_KEY=any aider --model openai/clawloop',
  limits: ['offers no tools: it reads file changes from the text', 'compacts by size only'],
  losesNextOf: 'compacted',
  open,
};

/** tokens of history after which it is summarised; low, so that the run includes a summary */
const HISTORY = '300';
const flags = [
  '--model',
  'openai/clawloop',
  '--edit-format',
  'whole',
  '--yes-always',
  '--no-pretty',
  '--no-fancy-input',
  '--no-show-model-warnings',
  '--no-check-update',
  '--analytics-disable',
  '--no-show-release-notes',
  '--max-chat-history-tokens',
  HISTORY,
  'README.md',
];

async function open(place: Place): Promise<Conversation> {
  const environment = {
    ...place.environment,
    OPENAI_API_KEY: KEY,
    OPENAI_API_BASE: `${place.url}/v1`,
    TERM: 'dumb',
    LITELLM_LOCAL_MODEL_COST_MAP: 'True', // otherwise it requests prices from the internet
  };
  const spawned = { ...place, environment };
  let program = startChild(spawned, flags);
  await prompt(program, 0);
  const ask = (words: string): number => {
    const from = program.printed().length;
    program.write(words);
    return from;
  };
  return {
    say: async (words) => prompt(program, ask(words)),
    stop: async (words, begun) => {
      const from = ask(words);
      await begun();
      program.signal('SIGINT');
      await prompt(program, from);
    },
    resume: async () => {
      await program.end();
      program = startChild(spawned, [...flags, '--restore-chat-history']);
      await prompt(program, 0);
    },
    close: () => program.end(),
  };
}

/** Its output up to the next prompt for words. @throws if that is an error */
async function prompt(program: Child, from: number): Promise<string> {
  const printed = () => program.printed().slice(from);
  await until(
    'aider asks for words',
    () => {
      if (program.hasEnded()) throw new Error(`aider ended: ${program.output().slice(-2_000)}`);
      return /(^|\n)[\w ]*> $/.test(printed());
    },
    PATIENCE_MS,
  ).catch((error: Error) => {
    throw new Error(`${error.message}: ${program.output().slice(-2_000)}`);
  });
  const error = /litellm\.\w*Error.*/.exec(printed());
  if (error !== null) throw new Error(error[0].slice(0, 500));
  return printed();
}
