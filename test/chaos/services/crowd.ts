import { setTimeout as delay } from 'node:timers/promises';
import { sampleAsk } from '../../../shared/claw-nano/dialogues/ask.ts';
import { createRandom, hashOf, type Random } from '../histories/random.ts';
import { type Messages, openCalls } from './calls.ts';
import type { CrowdRecord } from './crowd-record.ts';

const praise = ['Perfect, thanks!', 'Great, exactly what I wanted.', 'Thanks, that is very helpful.'];
const complaints = ['No lists, please.', 'Please skip the greeting.', 'That is not what I asked for.'];
/** What a person says about an answer. */
export const reaction = (random: Random): string => random.of(random.chance(0.5) ? praise : complaints);
const TURNS = 4;
const THINK_MS = 1_200;

export type Crowd = {
  readonly record: () => CrowdRecord;
  readonly openRequests: () => number;
  readonly openStreams: () => number;
  /** Lets all people finish their current turn. Resolves when all have their answers. */
  readonly stop: () => Promise<CrowdRecord>;
};

type Options = { readonly url: string; readonly seed: number; readonly people: number };

/**
 * Several people who chat through the official client until `stop`. Their words follow from the seed. They record the
 * answers that they receive, for comparison with the log.
 */
export function startCrowd({ url, seed, people }: Options): Crowd {
  const stop = new AbortController();
  const calls = openCalls(url);
  const caller = calls.as('none');

  const chat = async (random: Random, session: string | undefined): Promise<void> => {
    const messages: Messages[number][] = [{ role: 'user', content: sampleAsk(random.next).text }];
    const turns = 1 + random.int(TURNS);
    for (let turn = 0; turn < turns && !stop.signal.aborted; turn += 1) {
      const answer = await caller.ask(messages, session, random.chance(0.6));
      if (answer === undefined) return;
      messages.push({ role: 'assistant', content: answer.text });
      if (random.chance(0.1)) await caller.rate(answer.id, random.chance(0.5) ? 'up' : 'down');
      messages.push({ role: 'user', content: reaction(random) });
      await delay(random.int(THINK_MS), undefined, { signal: stop.signal }).catch(() => undefined);
    }
    if (session !== undefined) await caller.end(session);
  };

  const live = async (person: number): Promise<void> => {
    const random = createRandom(hashOf(`${seed}/${person}`));
    for (let session = 0; !stop.signal.aborted; session += 1)
      await chat(random, random.chance(0.5) ? `chaos-${seed}-${person}-${session}` : undefined);
  };
  const running = Array.from({ length: people }, (_, person) => live(person));
  const { record, openRequests, openStreams } = calls;
  return {
    record,
    openRequests,
    openStreams,
    stop: async () => {
      stop.abort();
      await Promise.all(running);
      return record();
    },
  };
}
