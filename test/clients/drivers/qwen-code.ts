import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';
import { startStreamJson } from './stream-json.ts';

export const qwenCode: Client = {
  name: 'qwen-code',
  title: 'Qwen Code',
  api: 'chat',
  package: {
    registry: 'npm',
    name: '@qwen-code/qwen-code',
    version: '0.24.4',
    executable: '@qwen-code/qwen-code/cli-entry.js',
  },
  driven: '`qwen --input-format stream-json`',
  connect: 'OPENAI_BASE_URL=http://127.0.0.1:8700/v1 OPENAI_API_KEY=any OPENAI_MODEL=clawloop qwen',
  limits: ['only the end of the process stops an answer'],
  losesNextOf: 'praise',
  open,
};

async function open(place: Place): Promise<Conversation> {
  mkdirSync(join(place.home, '.qwen'));
  const settings = {
    security: { auth: { selectedType: 'openai' } },
    privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true },
  };
  writeFileSync(join(place.home, '.qwen/settings.json'), JSON.stringify(settings));
  const spawned = {
    ...place,
    environment: {
      ...place.environment,
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: `${place.url}/v1`,
      OPENAI_MODEL: 'clawloop',
    },
  };
  const start = (...more: readonly string[]) => startStreamJson(spawned, ['--yolo', ...more]);
  let program = start();
  const resume = async (): Promise<void> => {
    await program.lines.child.end();
    program = start('--continue');
  };
  return {
    say: (words) => program.say(words),
    compact: async () => void (await program.say('/compress')),
    stop: async (words, begun) => {
      program.begin(words);
      await begun();
      await resume();
    },
    resume,
    close: () => program.lines.child.end(),
  };
}
