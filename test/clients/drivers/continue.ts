import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runChild, startChild } from '../child.ts';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';

export const continueCli: Client = {
  name: 'continue',
  title: 'Continue CLI',
  api: 'chat',
  package: {
    registry: 'npm',
    name: '@continuedev/cli',
    version: '1.5.47',
    executable: '@continuedev/cli/dist/cn.js',
  },
  driven: '`cn -p --resume`, a process per turn',
  connect: `# ~/.continue/config.yaml
models:
  - name: clawloop
    provider: openai
    model: clawloop
    apiBase: http://127.0.0.1:8700/v1
    apiKey: any
    roles: [chat]
    capabilities: [tool_use]`,
  limits: ['forgets its summary when the process ends'],
  open,
};

async function open(place: Place): Promise<Conversation> {
  mkdirSync(join(place.home, '.continue'));
  const file = join(place.home, '.continue/config.yaml');
  writeFileSync(file, settings(place.url));
  const spawned = { ...place, environment: { ...place.environment, CONTINUE_TELEMETRY_ENABLED: '0' } };
  let before: readonly string[] = [];
  const argv = (words: string): readonly string[] => {
    const all = ['-p', '--config', file, '--auto', ...before, words];
    before = ['--resume'];
    return all;
  };
  const say = (words: string) => runChild(spawned, argv(words));
  return {
    say,
    compact: async () => void (await say('/compact')),
    stop: async (words, begun) => {
      const program = startChild(spawned, argv(words));
      try {
        await begun();
      } finally {
        await program.end();
      }
    },
    resume: async () => {}, // every turn is a process of its own
    close: async () => {},
  };
}

const settings = (url: string): string => `
name: ClawLoop
version: 1.0.0
schema: v1
models:
  - name: clawloop
    provider: openai
    model: clawloop
    apiBase: ${url}/v1
    apiKey: ${KEY}
    roles: [chat]
    capabilities: [tool_use]
`;
