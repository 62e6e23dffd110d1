import { freePort, until } from '../../e2e/harness/clawloop.ts';
import { type Child, PATIENCE_MS, startChild } from '../child.ts';
import { type Client, type Conversation, KEY, type Place } from '../client.ts';
import { platform } from '../install.ts';

export const opencode: Client = {
  name: 'opencode',
  title: 'opencode',
  api: 'chat',
  package: {
    registry: 'npm',
    name: 'opencode-ai',
    version: '1.18.33',
    executable: `opencode-${platform}/bin/opencode`,
  },
  driven: '`opencode serve`',
  connect: connectBy('opencode.json'),
  limits: ['`opencode run "words"` puts the words in quotes, which was not tested'],
  losesNextOf: 'praise',
  open: (place) => open(place, 'OPENCODE'),
};

export const kilo: Client = {
  name: 'kilo',
  title: 'Kilo CLI',
  api: 'chat',
  package: {
    registry: 'npm',
    name: '@kilocode/cli',
    version: '7.7.7',
    executable: `@kilocode/cli-${platform}/bin/kilo`,
  },
  driven: '`kilo serve`',
  connect: connectBy('kilo.json'),
  limits: ['7.8.1 has no Linux build in the registry'],
  open: (place) => open(place, 'KILO'),
};

type Server = { readonly child: Child; readonly url: string };
type Message = { readonly parts?: readonly { readonly type: string; readonly text?: string }[] };

async function open(place: Place, prefix: 'OPENCODE' | 'KILO'): Promise<Conversation> {
  const environment = {
    ...place.environment,
    [`${prefix}_CONFIG_CONTENT`]: settings(place.url),
    [`${prefix}_DISABLE_AUTOUPDATE`]: '1',
    [`${prefix}_DISABLE_MODELS_FETCH`]: '1',
  };
  const start = () => startServer({ ...place, environment });
  let server = await start();
  const call = async (path: string, body: object = {}): Promise<unknown> => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} ${response.status}: ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  const { id } = (await call('/session')) as { id: string };
  const say = async (words: string): Promise<string> => {
    const reply = (await call(`/session/${id}/message`, {
      parts: [{ type: 'text', text: words }],
    })) as Message;
    return (reply.parts ?? []).map(({ text }) => text ?? '').join('\n');
  };
  return {
    say,
    compact: async () =>
      void (await call(`/session/${id}/summarize`, { providerID: 'clawloop', modelID: 'clawloop' })),
    stop: async (words, begun) => {
      const saying = say(words);
      await begun();
      await call(`/session/${id}/abort`);
      await saying;
    },
    resume: async () => {
      await server.child.end();
      server = await start();
    },
    close: () => server.child.end(),
  };
}

async function startServer(place: Place): Promise<Server> {
  const port = await freePort();
  const child = startChild(place, ['serve', '--port', String(port), '--hostname', '127.0.0.1']);
  await until(
    'its server listens',
    () => {
      if (child.hasEnded()) throw new Error(`it ended: ${child.output()}`);
      return child.output().includes('listening on');
    },
    PATIENCE_MS,
  );
  return { child, url: `http://127.0.0.1:${port}` };
}

const settings = (url: string): string =>
  JSON.stringify({
    share: 'disabled',
    autoupdate: false,
    permission: { '*': 'allow' },
    model: 'clawloop/clawloop',
    small_model: 'clawloop/clawloop',
    provider: {
      clawloop: {
        npm: '@ai-sdk/openai-compatible',
        name: 'ClawLoop',
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: { clawloop: { name: 'ClawLoop', limit: { context: 60_000, output: 4_000 } } },
      },
    },
  });

function connectBy(file: string): string {
  return `// ${file}
{ "model": "clawloop/clawloop",
  "provider": { "clawloop": { "npm": "@ai-sdk/openai-compatible", "name": "ClawLoop",
    "options": { "baseURL": "http://127.0.0.1:8700/v1", "apiKey": "any" },
    "models": { "clawloop": { "name": "ClawLoop", "limit": { "context": 60000, "output": 4000 } } } } } }`;
}
