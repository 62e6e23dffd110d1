import { setTimeout as delay } from 'node:timers/promises';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { monotonicNow } from '../../../shared/service/clock.ts';
import type { Answer, SessionClient, StartedSession } from '../rl-client.ts';
import { excerpt } from '../table.ts';
import { chat, listedVersions, type Spoken } from './chat.ts';
import { recordedSession } from './recorded-session.ts';

/** Thrown when a step of the demonstration does not go as it should; `message` says which and why. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

export type LifecycleWorld = {
  readonly url: string;
  readonly accessKey: string | undefined;
  readonly client: SessionClient;
  readonly task: string;
  /** ms that a new version is waited for; 0: not at all */
  readonly waitMs: number;
  /** What the export of these sessions holds; undefined where their log cannot be read from here. */
  readonly exported: (sessions: readonly string[]) => Promise<readonly string[] | undefined>;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
};

const SYSTEM = 'You are a helpful assistant. Answer in a few words.';
const QUESTIONS = [
  'How do I pack for a weekend trip?',
  'And if it rains?',
  'Thanks. What is the one thing that people forget?',
];
const VERSION_POLL_MS = 500;

/**
 * The life of a session, step by step: start, three turns, rewards, a refresh under the same key, the end,
 * the export, and the version that was made of it.
 *
 * @throws StepFailed, and when the signal aborts; what is open then is taken back
 */
export async function runLifecycle(world: LifecycleWorld): Promise<void> {
  const { client, signal, say } = world;
  const before = need('GET /models', await listedVersions(world.url, world.accessKey, signal));
  const open = new Map<string, StartedSession>();
  const begin = async (refresh?: string) => {
    const session = await startWhenRoom(world, refresh);
    open.set(session.key, session);
    return session;
  };
  try {
    const first = await begin();
    step(say, 'start_session', `${first.session}, key ${first.key.slice(0, 14)}...`);

    const messages: ChatMessage[] = [{ role: 'system', content: SYSTEM }];
    const answers: Spoken[] = [];
    for (const question of QUESTIONS) {
      messages.push({ role: 'user', content: question });
      const answer = need('chat', await chat(world.url, first.key, messages, signal));
      messages.push({ role: 'assistant', content: answer.text });
      answers.push(answer);
      step(say, 'chat/completions', `${described(answer)}: ${excerpt(answer.text, 60)}`);
    }

    const early = { reward: -0.5, interaction: answers[0]!.id };
    need('set_reward', await client.reward(first.key, early));
    step(say, 'set_reward', `-0.5 for the first answer, ${early.interaction}`);
    const last = need('set_reward', await client.reward(first.key, { reward: 1 }));
    step(say, 'set_reward', `1 for the last answer, ${last}`);
    step(say, 'sessions', need('sessions', await recordedSession(world, first.session)));

    const second = await begin(first.key);
    if (second.key !== first.key) throw new StepFailed('start_session: a refresh gave another key');
    step(say, 'start_session', `${second.session}, the same key; the session before it has ended`);
    const fresh = [{ role: 'user', content: 'Good morning. What should I cook tonight?' } as const];
    const answer = need('chat', await chat(world.url, second.key, fresh, signal));
    step(say, 'chat/completions', `${described(answer)}: ${excerpt(answer.text, 60)}`);
    need('set_reward', await client.reward(second.key, { reward: 0.5 }));
    step(say, 'set_reward', '0.5');
    const count = need('end_session', await client.end(second.key));
    open.delete(second.key);
    step(say, 'end_session', `after ${count} answer`);

    const lines = await world.exported([first.session, second.session]);
    signal.throwIfAborted();
    for (const line of lines ?? [`where the log is: clawloop sessions export ${first.session}`])
      step(say, 'sessions export', line);
    if (world.waitMs > 0) await untilVersion(world, Math.max(0, ...before));
  } finally {
    for (const { key } of open.values()) await client.end(key, { discard: true });
  }
}

const described = ({ id, tokens, finishReason, version }: Spoken): string =>
  `${id}, ${tokens} tokens, ${finishReason}${version === undefined ? '' : `, v${version}`}`;

const step = (say: (line: string) => void, what: string, came: string) => say(`${what.padEnd(18)} ${came}`);

/** @throws StepFailed with what the server said */
function need<Value>(what: string, answer: Answer<Value>): Value {
  if (answer.kind === 'answer') return answer.value;
  throw new StepFailed(
    answer.kind === 'silent'
      ? `${what}: no answer: ${answer.reason}`
      : `${what}: ${answer.status} ${answer.code} ${answer.message}`,
  );
}

/** No room is no failure: the server says when to ask again. */
async function startWhenRoom(world: LifecycleWorld, refresh: string | undefined): Promise<StartedSession> {
  for (;;) {
    const answer = await world.client.start(world.task, { refresh });
    if (answer.kind !== 'refused' || answer.status !== 429) return need('start_session', answer);
    const seconds = answer.retryAfter ?? 1;
    step(world.say, 'start_session', `429 ${answer.code}; again in ${seconds} s`);
    await delay(seconds * 1000, undefined, { signal: world.signal });
  }
}

/** @throws StepFailed when none came in time */
async function untilVersion(world: LifecycleWorld, before: number): Promise<void> {
  const began = monotonicNow();
  while (monotonicNow() - began < world.waitMs) {
    const versions = need('GET /models', await listedVersions(world.url, world.accessKey, world.signal));
    const newest = Math.max(0, ...versions);
    if (newest > before) {
      const seconds = ((monotonicNow() - began) / 1000).toFixed(1);
      return step(world.say, 'new version', `v${newest}, ${seconds} s after the end`);
    }
    await delay(VERSION_POLL_MS, undefined, { signal: world.signal });
  }
  throw new StepFailed(
    `no new version within ${world.waitMs / 1000} s: a batch may need more samples (clawloop turns list --why)`,
  );
}
