import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  loopCommand,
  type OpenClawRequest,
  type OpenClawScenario,
  type ScenarioName,
  said,
} from '../../../openclaw-requests/requests.ts';
import { until } from '../../harness/clawloop.ts';
import type { OpenClawHome, Settings } from '../gateway.ts';
import { askedFor, type Kind } from '../what-is-asked.ts';
import { qwenPlugin } from './qwen-plugin.ts';
import type { Answer, RecordingUpstream, Reply } from './recording-upstream.ts';

export type RecordedScenario = {
  /** merged into the settings that all scenarios share */
  readonly settings?: (url: string) => Settings;
  /** A new script for each run, because some scripts count requests. */
  readonly answer: () => Answer;
  readonly play: (home: OpenClawHome, upstream: RecordingUpstream) => Promise<OpenClawScenario>;
};

const model = (changes: object = {}) => ({
  id: 'qwen3-4b',
  name: 'Qwen3 4B',
  reasoning: true,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 32_768,
  maxTokens: 8_192,
  ...changes,
});
/** Settings for a model at this address. The provider's id decides which plugin takes it; `tier` has none. */
export const providerSettings = (url: string, provider = 'tier', changes: object = {}): Settings => ({
  models: {
    providers: {
      [provider]: { baseUrl: url, apiKey: 'key', api: 'openai-completions', models: [model(changes)] },
    },
  },
  agents: { defaults: { model: { primary: `${provider}/qwen3-4b` } } },
});

const says =
  (text: string): Answer =>
  () => ({ kind: 'says', text });

/** One turn in a separate process. @throws Error with OpenClaw's output if it fails */
async function say(home: OpenClawHome, session: string, words: string): Promise<void> {
  const { code, text } = await home.openclaw(turn(session, words));
  if (code !== 0) throw new Error(`OpenClaw in ${session}: ${text.slice(-2_000)}`);
}
const turn = (session: string, words: string) => [
  'agent',
  '--local',
  '--session-id',
  session,
  '--message',
  words,
];

const firstTurn: RecordedScenario = {
  answer: () => says('Teal is a good colour.'),
  play: async (home, upstream) => {
    await home.configure({ agents: { defaults: { skipBootstrap: false } } }); // as after an installation
    await say(home, 'first-turn', said['first-turn'][0]);
    return { session: 'first-turn', requests: upstream.requests };
  },
};

const toolLoop: RecordedScenario = {
  answer: () => (_, n) =>
    n === 2 || n === 3
      ? { kind: 'calls', name: 'exec', arguments: { command: loopCommand.command } }
      : { kind: 'says', text: n === 1 ? 'Which command do you mean?' : 'It ran twice.' },
  play: async (home, upstream) => {
    for (const words of said['tool-loop']) await say(home, 'tool-loop', words);
    return { session: 'tool-loop', requests: upstream.requests.slice(1) };
  },
};

const CONTEXT_TOKENS = 16_384;
/** About the longest argument of bash. Two such calls are more than OpenClaw keeps. */
const hugeCommand = `${loopCommand.command} # ${'x'.repeat(6 * CONTEXT_TOKENS)}`;
const STARTED = 'started.txt';
/** The command of each round of the loop. OpenClaw later cuts the history after the huge calls. */
const rounds = [
  loopCommand.command,
  hugeCommand,
  hugeCommand,
  loopCommand.command,
  loopCommand.command,
  `echo started > ${STARTED}; sleep 30`,
];

const cutHistory: RecordedScenario = {
  settings: (url) => providerSettings(url, 'tier', { contextWindow: CONTEXT_TOKENS, maxTokens: 2_048 }),
  answer: () => {
    const replies: readonly Reply[] = [
      ...rounds.map((command) => ({ kind: 'calls', name: 'exec', arguments: { command } }) as const),
      { kind: 'says', text: 'It is teal.', reasoning: 'The person named a colour.' },
      { kind: 'says', text: '<think>About colours.</think>The part that can be seen.' },
    ];
    return (_, n) => replies[n - 1] ?? { kind: 'says', text: 'The garden is green.' };
  },
  play: async (home, upstream) => {
    const [first, ...rest] = said['cut-history'];
    const kill = new AbortController();
    const loop = home.openclaw(turn('cut-history', first), kill.signal);
    await until('the last tool runs', () => existsSync(join(home.workspace, STARTED)), 300_000);
    kill.abort();
    await loop;
    for (const words of rest) await say(home, 'cut-history', words);
    return { session: 'cut-history', requests: upstream.requests };
  },
};

const retries: RecordedScenario = {
  answer: () => () => ({ kind: 'drops' }),
  play: async (home, upstream) => {
    const { code } = await home.openclaw(turn('retries', said.retries[0]));
    if (code === 0) throw new Error('OpenClaw showed an answer although the server gave none');
    return { session: 'retries', requests: upstream.requests };
  },
};

const kindOf = ({ body }: OpenClawRequest): Kind => askedFor(body.messages).kind;
const sessionIn = (request: OpenClawRequest): string | undefined =>
  /\bsessionId=([^\s|]+)/.exec(JSON.stringify(request.body.messages))?.[1];

const subagent: RecordedScenario = {
  answer: () => {
    const parentAnswered = Promise.withResolvers<void>();
    return async (messages) => {
      const { kind } = askedFor(messages);
      if (kind === 'subagent') {
        await parentAnswered.promise; // otherwise the result may arrive before the parent's own answer
        return { kind: 'says', text: 'One, two, three.' };
      }
      if (kind === 'announce') return { kind: 'says', text: 'The helper counted to three.' };
      if (messages.at(-2)?.role !== 'tool')
        return {
          kind: 'calls',
          name: 'tool_call',
          arguments: { id: 'sessions_spawn', args: { task: 'Count to three.', label: 'counter' } },
        };
      parentAnswered.resolve();
      return { kind: 'says', text: 'A helper counts now.' };
    };
  },
  play: async (home, upstream) => {
    const gateway = await home.start();
    const { sessionId } = await gateway.say('house-chat', said.subagent[0]);
    const ofKind = (kind: Kind) => upstream.requests.filter((request) => kindOf(request) === kind);
    await until("the announcement of the helper's result", () => ofKind('announce').length > 0);
    await gateway.stop();
    const [child] = ofKind('subagent');
    const childSession = child === undefined ? undefined : sessionIn(child);
    const requests = [...ofKind('conversation'), ...ofKind('subagent'), ...ofKind('announce')];
    return { session: sessionId, childSession, requests };
  },
};

const withQwenPlugin: RecordedScenario = {
  settings: (url) => ({
    ...providerSettings(url, 'qwen'),
    plugins: { load: { paths: [qwenPlugin] }, entries: { qwen: { enabled: true } } },
  }),
  answer: () => says('Rye bread does.'),
  play: async (home, upstream) => {
    await say(home, 'qwen-plugin', said['qwen-plugin'][0]);
    return { session: 'qwen-plugin', requests: upstream.requests };
  },
};

export const recordedScenarios: Readonly<Record<ScenarioName, RecordedScenario>> = {
  'first-turn': firstTurn,
  'tool-loop': toolLoop,
  'cut-history': cutHistory,
  retries,
  subagent,
  'qwen-plugin': withQwenPlugin,
};
