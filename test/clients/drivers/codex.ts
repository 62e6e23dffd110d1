import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';
import { type JsonRpc, startJsonRpc } from '../json-lines.ts';

export const codex: Client = {
  name: 'codex',
  title: 'Codex CLI',
  api: 'responses',
  package: {
    registry: 'npm',
    name: '@openai/codex',
    version: '0.169.0',
    executable: '@openai/codex/bin/codex.js',
  },
  driven: '`codex app-server`',
  connect: `# ~/.codex/config.toml
model = "clawloop"
model_provider = "clawloop"

[model_providers.clawloop]
name = "ClawLoop"
base_url = "http://127.0.0.1:8700/v1"
wire_api = "responses"`,
  limits: ['needs `wire_api = "responses"`; tested without a sandbox'],
  losesNextOf: 'praise',
  open,
};

async function open(place: Place): Promise<Conversation> {
  mkdirSync(join(place.home, '.codex'));
  writeFileSync(join(place.home, '.codex/config.toml'), settings(place.url));
  const spawned = { ...place, environment: { ...place.environment, CLAWLOOP_KEY: KEY } };
  let program = await start(spawned);
  const { thread } = (await program.call('thread/start', { cwd: place.folder })) as Started;
  const threadId = thread.id;
  const isDone = (line: Line): boolean => line.method === 'turn/completed';
  const ask = async (words: string): Promise<string> => {
    const { turn } = (await program.call('turn/start', {
      threadId,
      input: [{ type: 'text', text: words }],
    })) as { turn: { id: string } };
    return turn.id;
  };
  return {
    say: async (words) => {
      const from = program.count();
      await ask(words);
      const { params } = (await program.line('the turn ends', isDone, from)) as Completed;
      const lines = program.linesFrom(from) as readonly Item[];
      if (params.turn.status !== 'completed') throw new Error(JSON.stringify(params.turn));
      return lines
        .filter(({ method, params }) => method === 'item/completed' && params.item.type === 'agentMessage')
        .map(({ params }) => params.item.text)
        .join('\n');
    },
    compact: async () => {
      const from = program.count();
      await program.call('thread/compact/start', { threadId });
      await program.line('the history is compacted', isDone, from);
    },
    stop: async (words, begun) => {
      const from = program.count();
      const turnId = await ask(words);
      await begun();
      await program.call('turn/interrupt', { threadId, turnId });
      await program.line('the turn is interrupted', isDone, from);
    },
    resume: async () => {
      await program.child.end();
      program = await start(spawned);
      await program.call('thread/resume', { threadId });
    },
    close: () => program.child.end(),
  };
}

type Line = Readonly<Record<string, unknown>>;
type Started = { readonly thread: { readonly id: string } };
type Completed = { readonly params: { readonly turn: { readonly status: string } } };
type Item = {
  readonly method: string;
  readonly params: { readonly item: { readonly type: string; readonly text: string } };
};

async function start(spawned: Parameters<typeof startJsonRpc>[0]): Promise<JsonRpc> {
  const program = startJsonRpc(spawned, ['app-server']);
  const clientInfo = { name: 'clawloop-tests', title: 'ClawLoop', version: '1' };
  await program.call('initialize', { clientInfo });
  program.send({ jsonrpc: '2.0', method: 'initialized' });
  return program;
}

const settings = (url: string): string => `
model = "clawloop"
model_provider = "clawloop"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[analytics]
enabled = false

[model_providers.clawloop]
name = "ClawLoop"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "CLAWLOOP_KEY"
`;
