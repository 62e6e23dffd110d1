import { setTimeout as delay } from 'node:timers/promises';
import {
  type Answer,
  createSessionClient,
  type SessionClient,
  type StartedSession,
} from '../../../clients/api-client.ts';
import type { ChatMessage } from '../../../shared/events/chat-message.ts';
import { monotonicNow } from '../../../shared/runtime/clock.ts';
import { excerpt } from '../../../shared/runtime/table.ts';
import { type ChatAnswer, chat, listedVersions } from './chat.ts';

/** Thrown when a step of the demo fails; `message` names the step and the reason. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed';
}

export type LifecycleDeps = {
  readonly url: string;
  readonly accessKey: string | undefined;
  readonly client: SessionClient;
  readonly task: string;
  /** ms to wait for a new version; 0: do not wait */
  readonly waitMs: number;
  /** Summary of the export of these sessions; undefined when their log cannot be read from here. */
  readonly exported: (sessions: readonly string[]) => Promise<readonly string[] | undefined>;
  readonly print: (line: string) => void;
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
 * Shows the life of a session step by step: start, three turns, rewards, a refresh under the same key, the end,
 * the export, and the version trained from it.
 *
 * @throws StepFailed, and when the signal aborts; open sessions are then discarded
 */
export async function runLifecycle(deps: LifecycleDeps): Promise<void> {
  const { client, signal, print } = deps;
  const before = need('GET /models', await listedVersions(deps.url, deps.accessKey, signal));
  const open = new Map<string, StartedSession>();
  const begin = async (refresh?: string) => {
    const session = await startWhenRoom(deps, refresh);
    open.set(session.key, session);
    return session;
  };
  try {
    const first = await begin();
    step(print, 'start_session', `${first.session}, key ${first.key.slice(0, 14)}...`);

    const messages: ChatMessage[] = [{ role: 'system', content: SYSTEM }];
    const answers: ChatAnswer[] = [];
    for (const question of QUESTIONS) {
      messages.push({ role: 'user', content: question });
      const answer = need('chat', await chat(deps.url, first.key, messages, signal));
      messages.push({ role: 'assistant', content: answer.text });
      answers.push(answer);
      step(print, 'chat/completions', `${described(answer)}: ${excerpt(answer.text, 60)}`);
    }

    const early = { reward: -0.5, interaction: answers[0]!.id };
    need('set_reward', await client.reward(first.key, early));
    step(print, 'set_reward', `-0.5 for the first answer, ${early.interaction}`);
    const last = need('set_reward', await client.reward(first.key, { reward: 1 }));
    step(print, 'set_reward', `1 for the last answer, ${last}`);
    step(print, 'sessions', await recordedSession(deps, first.session));

    const second = await begin(first.key);
    if (second.key !== first.key) throw new StepFailed('start_session: a refresh gave another key');
    step(print, 'start_session', `${second.session}, the same key; the previous session has ended`);
    const fresh = [{ role: 'user', content: 'Good morning. What should I cook tonight?' } as const];
    const answer = need('chat', await chat(deps.url, second.key, fresh, signal));
    step(print, 'chat/completions', `${described(answer)}: ${excerpt(answer.text, 60)}`);
    need('set_reward', await client.reward(second.key, { reward: 0.5 }));
    step(print, 'set_reward', '0.5');
    const { answers: count } = need('end_session', await client.end(second.key));
    open.delete(second.key);
    step(print, 'end_session', `after ${count} answer`);

    const lines = await deps.exported([first.session, second.session]);
    signal.throwIfAborted();
    for (const line of lines ?? [
      `on the machine with the log, run: clawloop sessions export ${first.session}`,
    ])
      step(print, 'sessions export', line);
    if (deps.waitMs > 0) await untilVersion(deps, Math.max(0, ...before));
  } finally {
    for (const { key } of open.values()) await client.end(key, { discard: true });
  }
}

const described = ({ id, tokens, finishReason, version }: ChatAnswer): string =>
  `${id}, ${tokens} tokens, ${finishReason}${version === undefined ? '' : `, v${version}`}`;

const step = (print: (line: string) => void, name: string, result: string) =>
  print(`${name.padEnd(18)} ${result}`);

/** @throws StepFailed with the message of the server */
function need<Value>(what: string, answer: Answer<Value>): Value {
  if (answer.kind === 'answer') return answer.value;
  throw new StepFailed(
    answer.kind === 'silent'
      ? `${what}: no answer: ${answer.reason}`
      : `${what}: ${answer.status} ${answer.code} ${answer.message}`,
  );
}

/** What the server has recorded about a session, in one line. */
async function recordedSession({ url, accessKey, signal }: LifecycleDeps, session: string): Promise<string> {
  const sessions = need('sessions', await createSessionClient(url, accessKey, signal).list());
  const recorded = sessions.find(({ session_id }) => session_id === session);
  if (recorded === undefined) return `${session} is not one of the ${sessions.length} sessions`;
  const rewards = recorded.rewards.map(({ reward }) => reward).join(', ');
  return `${recorded.state}, ${recorded.interaction_count} answers, rewards ${rewards}`;
}

/** A full server is not a failure: it says when to retry. */
async function startWhenRoom(deps: LifecycleDeps, refresh: string | undefined): Promise<StartedSession> {
  for (;;) {
    const answer = await deps.client.start(deps.task, { refresh });
    if (answer.kind !== 'refused' || answer.status !== 429) return need('start_session', answer);
    const seconds = answer.retryAfter ?? 1;
    step(deps.print, 'start_session', `429 ${answer.code}; retrying in ${seconds} s`);
    await delay(seconds * 1000, undefined, { signal: deps.signal });
  }
}

/** @throws StepFailed when no new version comes in time */
async function untilVersion(deps: LifecycleDeps, before: number): Promise<void> {
  const began = monotonicNow();
  while (monotonicNow() - began < deps.waitMs) {
    const versions = need('GET /models', await listedVersions(deps.url, deps.accessKey, deps.signal));
    const newest = Math.max(0, ...versions);
    if (newest > before) {
      const seconds = ((monotonicNow() - began) / 1000).toFixed(1);
      return step(deps.print, 'new version', `v${newest}, ${seconds} s after the end`);
    }
    await delay(VERSION_POLL_MS, undefined, { signal: deps.signal });
  }
  throw new StepFailed(
    `no new version within ${deps.waitMs / 1000} s; the batch may need more samples, see clawloop turns list --why`,
  );
}
