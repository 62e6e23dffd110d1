import { runChild } from '../child.ts';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';
import { platform } from '../install.ts';
import { startJsonRpc } from '../json-lines.ts';

export const cline: Client = {
  name: 'cline',
  title: 'Cline CLI',
  api: 'chat',
  package: {
    registry: 'npm',
    name: 'cline',
    version: '3.0.65',
    executable: `@cline/cli-${platform}/bin/cline`,
  },
  driven: '`cline --acp`',
  connect: 'cline auth --provider openai --apikey any --modelid clawloop --baseurl http://127.0.0.1:8700/v1',
  limits: ['compacts by size only, which was not tested'],
  open,
};

type Session = { readonly sessionId: string };
type Update = {
  readonly method?: string;
  readonly params?: {
    readonly update?: { readonly sessionUpdate?: string; readonly content?: { text?: string } };
  };
};

async function open(place: Place): Promise<Conversation> {
  const environment = {
    ...place.environment,
    CLINE_API_KEY: KEY,
    CLINE_PROVIDER: 'openai-compatible',
    CLINE_MODEL: 'clawloop',
    CLINE_NO_AUTO_UPDATE: '1',
    CLINE_TELEMETRY_DISABLED: '1',
  };
  const spawned = { ...place, environment };
  const provider = ['--provider', 'openai', '--apikey', KEY, '--modelid', 'clawloop'];
  await runChild(spawned, ['auth', ...provider, '--baseurl', `${place.url}/v1`]);
  const start = async () => {
    const started = startJsonRpc(spawned, ['--acp', '--auto-approve', 'true']);
    await started.call('initialize', { protocolVersion: 1, clientCapabilities: {} });
    return started;
  };
  let program = await start();
  const where = { cwd: place.folder, mcpServers: [] };
  const { sessionId } = (await program.call('session/new', where)) as Session;
  const say = async (words: string): Promise<string> => {
    const from = program.count();
    await program.call('session/prompt', { sessionId, prompt: [{ type: 'text', text: words }] });
    return (program.linesFrom(from) as readonly Update[])
      .filter(({ params }) => params?.update?.sessionUpdate === 'agent_message_chunk')
      .map(({ params }) => params?.update?.content?.text ?? '')
      .join('');
  };
  return {
    say,
    stop: async (words, begun) => {
      const saying = say(words);
      await begun();
      program.send({ jsonrpc: '2.0', method: 'session/cancel', params: { sessionId } });
      await saying;
    },
    resume: async () => {
      await program.child.end();
      program = await start();
      await program.call('session/load', { sessionId, ...where });
    },
    close: () => program.child.end(),
  };
}
