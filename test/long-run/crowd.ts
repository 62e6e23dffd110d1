import { setTimeout as delay } from 'node:timers/promises';
import { sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { createRandom, hashOf } from '../chaos/histories/random.ts';
import { type Caller, type Messages, openCalls } from '../chaos/services/calls.ts';
import { reaction } from '../chaos/services/crowd.ts';
import type { CrowdRecord } from '../chaos/services/crowd-record.ts';
import { diaryOf, type Visit } from './diary.ts';

type Options = {
  readonly url: string;
  readonly seed: number;
  readonly hours: number;
  /** One access key per person. */
  readonly keys: readonly string[];
  /** Resolves at this simulated hour, or at once after the abort. */
  readonly untilHour: (hour: number, signal: AbortSignal) => Promise<void>;
  /** Real ms. */
  readonly hourMs: number;
};

/** People who follow their diaries to the end. What they say follows from the seed. */
export function startPeople({ url, seed, hours, keys, untilHour, hourMs }: Options) {
  const calls = openCalls(url);
  const stop = new AbortController();
  const { signal } = stop;
  const live = async (key: string, person: number): Promise<void> => {
    const talk = createTalk(calls.as(key), `long-${seed}-${person}`, hourMs, signal);
    for (const visit of diaryOf(seed, person, hours)) {
      await untilHour(visit.at, signal);
      if (signal.aborted) return;
      await talk(visit);
    }
  };
  const living = Promise.all(keys.map(live));
  living.catch(() => undefined); // `done` reports it
  return {
    record: calls.record,
    done: async (): Promise<CrowdRecord> => {
      await living;
      return calls.record();
    },
    /** Lets all people finish their current message. */
    stop: async (): Promise<void> => {
      stop.abort();
      await living;
    },
  };
}

function createTalk(caller: Caller, name: string, hourMs: number, signal: AbortSignal) {
  const random = createRandom(hashOf(name));
  const conversations = new Map<number, Messages[number][]>();
  return async ({ conversation, isNamed, waits, isEnd }: Visit): Promise<void> => {
    const messages = conversations.get(conversation) ?? [];
    const session = isNamed ? `${name}-${conversation}` : undefined;
    for (const wait of waits) {
      await delay(wait * hourMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      const content = messages.length === 0 ? sampleAsk(random.next).text : reaction(random);
      const asked: Messages = [...messages, { role: 'user', content }];
      const answer = await caller.ask(asked, session, random.chance(0.6));
      if (answer === undefined) return;
      messages.splice(0, messages.length, ...asked, { role: 'assistant', content: answer.text });
      if (random.chance(0.15)) await caller.rate(answer.id, random.chance(0.5) ? 'up' : 'down');
    }
    if (isEnd) conversations.delete(conversation);
    else conversations.set(conversation, messages);
    if (isEnd && session !== undefined) await caller.end(session);
  };
}
