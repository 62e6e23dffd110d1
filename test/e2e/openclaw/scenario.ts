import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../harness/clawloop.ts';
import type { OpenClawGateway, OpenClawHome, Settings } from './gateway.ts';
import type { ScriptedUpstream } from './scripted-upstream.ts';
import type { Kind } from './what-is-asked.ts';

/** Words of a person, or a wait before the next words. */
type Step = string | Extract<Kind, 'heartbeat' | 'announce' | 'cron'>;
const timers: readonly string[] = ['heartbeat', 'announce', 'cron'];

/** Three conversations at once. The parts between backticks are the tools that the scripted model calls. */
export const scenario = {
  /** this conversation is compacted, because the read files fill the context */
  garden: [
    'Hello, the garden needs a plan.',
    'Take in the list: `read list.txt` please.',
    'Once more, another part: `exec head -c 9000 list.txt` please.',
    'Once more again, from the start: `read list.txt` please.',
    'What would you plant first?',
    'Where are we now: `exec pwd` please.',
    'Good, that will do for the garden.',
  ],
  /** its model fails twice, and answers once with reasoning alone */
  kitchen: [
    'Please `write notes.txt flour and eggs` for me.',
    'Now busy once, `exec cat notes.txt` please.',
    'And cut once, while we talk of bread.',
    'Please think first about the dough.',
    'Look twice, `read notes.txt` and `exec ls` please.',
    'Thank you, the kitchen is done.',
  ],
  /** the conversation of the client's own timers and agents */
  main: [
    'Good day to you, my friend.',
    'heartbeat',
    'Let a helper `spawn count the roses` for us.',
    'announce',
    'What did the helper say?',
    'cron',
    'And where are we, `exec pwd` please?',
    'Good, that is all for today.',
  ],
} as const satisfies Readonly<Record<string, readonly Step[]>>;
export type SessionName = keyof typeof scenario;
const names = Object.keys(scenario) as SessionName[];

/** The first words of a fourth conversation, with a title. */
export const FENCE = 'How do I paint a fence?';

/** A turn that a session must have, with its next state; undefined: none. */
export type ExpectedTurn = { readonly words: string; readonly next: readonly string[] | undefined };
/** Stands for any result of a tool. */
export const TOOL = '(the result of a tool)';

/** The main turns of a conversation, in order: one per round of a tool loop, one per answer in words. */
export function expectedTurns(name: SessionName): readonly ExpectedTurn[] {
  const steps: readonly Step[] = scenario[name];
  return steps.flatMap((words, index): readonly ExpectedTurn[] => {
    if (timers.includes(words)) return [];
    const calls = words.match(/`/g)?.length ?? 0;
    const after = steps[index + 1];
    // a heartbeat that has nothing to say leaves no trace
    const said = after === 'heartbeat' ? steps[index + 2] : after;
    const next = said === undefined || timers.includes(said) ? undefined : [said];
    if (words.includes('think first')) return [{ words, next: undefined }]; // without visible text
    return [
      ...(calls > 0 ? [{ words, next: Array(calls / 2).fill(TOOL) as string[] }] : []),
      { words, next },
    ];
  });
}

type Written = {
  readonly models: {
    readonly providers: { readonly clawloop: { readonly models: readonly { readonly id: string }[] } };
  };
};

/**
 * Settings to merge into the written ones: a small context, so that it compacts soon, a model for small tasks, and
 * timers.
 */
export function scenarioSettings(written: unknown): Settings {
  const [model] = (written as Written).models.providers.clawloop.models;
  const small = { ...model, contextWindow: 16_384, maxTokens: 1_024 };
  return {
    agents: {
      defaults: {
        skills: [],
        utilityModel: `clawloop/${model!.id}`,
        compaction: { keepRecentTokens: 600 },
        heartbeat: { every: '30m', target: 'last' },
      },
    },
    models: { providers: { clawloop: { models: [small] } } },
    tools: { profile: 'coding' },
  };
}

/**
 * Plays the scenario, every conversation at its own pace, and a fourth one with a title.
 *
 * @returns session ids by name
 */
export async function play(
  gateway: OpenClawGateway,
  { workspace }: OpenClawHome,
  upstream: ScriptedUpstream,
): Promise<Readonly<Record<SessionName | 'fence', string>>> {
  const lines = Array.from(
    { length: 400 },
    (_, index) => `line ${index} of all that a house needs in a year`,
  );
  await writeFile(join(workspace, 'list.txt'), lines.join('\n'));
  const served = (kind: Kind) => upstream.served.filter((one) => one.kind === kind).length;
  const converse = async (name: SessionName): Promise<string> => {
    let id = '';
    for (const step of scenario[name]) {
      if (step === 'heartbeat') await gateway.call('wake', { mode: 'now', text: 'The tea is ready.' });
      if (step === 'cron') await gateway.call('cron.add', reminder());
      if (timers.includes(step)) await until(`OpenClaw's ${step}`, () => served(step as Kind) > 0);
      else id = (await gateway.say(name, step)).sessionId;
    }
    return id;
  };
  const talk = names.map(async (name) => [name, await converse(name)] as const);
  const fence = { agentId: 'main', message: FENCE };
  const created = (await gateway.call('sessions.create', fence)) as CreatedSession;
  const ids = Object.fromEntries(await Promise.all(talk)) as Record<SessionName, string>;
  await firstAnswer(gateway, upstream, created);
  return { ...ids, fence: created.sessionId };
}

type CreatedSession = {
  readonly key: string;
  readonly sessionId: string;
  /** whether OpenClaw accepted the first words; if not, `runError` says why */
  readonly runStarted: boolean;
};

/** Waits for the answer to a created session's first words. Words that OpenClaw refused are sent again. */
async function firstAnswer(
  gateway: OpenClawGateway,
  upstream: ScriptedUpstream,
  created: CreatedSession,
): Promise<void> {
  if (!created.runStarted)
    await gateway.call('chat.send', {
      sessionKey: created.key,
      message: FENCE,
      idempotencyKey: randomUUID(),
    });
  await until('the answer about the fence', () =>
    upstream.served.some(({ kind, words }) => kind === 'conversation' && words === FENCE),
  ).catch((error: Error) => {
    const served = upstream.served.map(({ n, kind, words }) => `${n} ${kind} ${words.slice(0, 40)}`);
    const seen = [error.message, JSON.stringify(created), ...served, gateway.output().slice(-8_000)];
    throw new Error(seen.join('\n'));
  });
}

const reminder = () => ({
  name: 'water',
  sessionTarget: 'main',
  wakeMode: 'now',
  schedule: { kind: 'at', at: new Date(Date.now() + 1_000).toISOString() },
  payload: { kind: 'systemEvent', text: 'Water the plants.' },
});
