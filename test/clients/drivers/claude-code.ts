import { type Client, type Conversation, KEY, type Place } from '../client.ts';
import { platform } from '../install.ts';
import { startStreamJson } from './stream-json.ts';

export const claudeCode: Client = {
  name: 'claude-code',
  title: 'Claude Code',
  api: 'messages',
  package: {
    registry: 'npm',
    name: '@anthropic-ai/claude-code',
    version: '2.1.330',
    executable: `@anthropic-ai/claude-code-${platform}/claude`,
  },
  driven: '`claude -p --input-format stream-json`',
  connect:
    'ANTHROPIC_BASE_URL=http://127.0.0.1:8700 ANTHROPIC_AUTH_TOKEN=any ANTHROPIC_MODEL=clawloop claude',
  limits: ['requests a title only in a terminal, which was not tested'],
  open,
};

async function open(place: Place): Promise<Conversation> {
  const spawned = {
    ...place,
    environment: {
      ...place.environment,
      ANTHROPIC_BASE_URL: place.url,
      ANTHROPIC_AUTH_TOKEN: KEY,
      ANTHROPIC_MODEL: 'clawloop',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'clawloop',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    },
  };
  const flags = ['-p', '--verbose', '--allowedTools', 'Bash'];
  let program = startStreamJson(spawned, flags);
  return {
    say: (words) => program.say(words),
    compact: async () => void (await program.say('/compact')),
    stop: async (words, begun) => {
      const from = program.lines.count();
      program.begin(words);
      await begun();
      program.lines.send({
        type: 'control_request',
        request_id: 'stop',
        request: { subtype: 'interrupt' },
      });
      await program.lines.line('the answer is stopped', ({ type }) => type === 'result', from);
    },
    resume: async () => {
      await program.lines.child.end();
      program = startStreamJson(spawned, [...flags, '--continue']);
    },
    close: () => program.lines.child.end(),
  };
}
