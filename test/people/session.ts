import { type Ask, sampleAsk } from '../../shared/claw-nano/dialogues/ask.ts';
import { chance, pick, type Random } from '../../shared/claw-nano/dialogues/choose.ts';
import type { ChatMessage } from '../../shared/events/chat-message.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { factsNamed } from '../bench/learning/evaluate.ts';
import { plainCorpus, readNextMessages } from '../corpora/next-messages.ts';
import type { Person } from './people.ts';
import type { Fault } from './voices/voice.ts';

/** Access of a person to ClawLoop. */
export type Client = {
  /** An answer in a conversation, with the id for a rating. */
  readonly ask: (messages: readonly ChatMessage[]) => Promise<{ readonly id: string; readonly text: string }>;
  readonly rate: (id: string, score: 1 | -1) => Promise<void>;
};

/** The intended meaning of a reaction to an answer. */
export type Reaction = {
  readonly id: string;
  readonly meant: 'good' | 'bad';
  /** the fault that the person complains about; absent for praise and without words */
  readonly fault?: Fault | undefined;
};

export type Session = { readonly firstMet: boolean; readonly reactions: readonly Reaction[] };

/** Complaints about answers to one request before the person gives up. */
const PATIENCE = 2;
/** Items that an answer must name for a person who wants content. */
const LEAST_FACTS = 2;

/** One chat of a person. All words and actions follow from the seed and the answers. */
export async function holdSession(
  person: Person,
  { seed, session }: { readonly seed: number; readonly session: number },
  client: Client,
): Promise<Session> {
  const random = createRandom(`people/${person.name}/${seed}/${session}`);
  const reactions: Reaction[] = [];
  let firstMet: boolean | undefined;
  let messages: readonly ChatMessage[] = [];
  for (let request = 1; request <= person.requests; request++) {
    const ask = sampleAsk(random);
    messages = [...messages, ...asking(person, ask.text, ask.topic.entry)];
    for (let turn = 0; ; turn++) {
      const answer = await client.ask(messages);
      const faults = faultsOf(person, session, ask, answer.text);
      firstMet ??= faults.length === 0;
      const met = chance(random, person.wrong) ? faults.length > 0 : faults.length === 0;
      const last = met || turn === PATIENCE;
      const reaction: Reaction = {
        id: answer.id,
        meant: met ? 'good' : 'bad',
        fault: met ? undefined : faults[0],
      };
      const answered = [...messages, { role: 'assistant', content: answer.text } as const];
      if (person.way === 'words') {
        if (!met || person.praises) reactions.push(reaction);
        messages = [...answered, { role: 'user', content: words(person, session, reaction, random) }];
        if (!last) continue;
        // the loop sees the person's words only when they are sent
        messages = [...messages, { role: 'assistant', content: (await client.ask(messages)).text }];
        break;
      }
      if (person.way === 'thumbs') await client.rate(answer.id, met ? 1 : -1);
      const shows =
        person.way === 'thumbs' || (met ? request < person.requests : !last && person.way !== 'leaves');
      if (shows) reactions.push({ id: answer.id, meant: reaction.meant });
      messages =
        met || person.way === 'thumbs' ? answered : askedAgain(person, ask, { messages, answered }, random);
      if (met || person.way === 'thumbs') break;
      if (last || person.way === 'leaves') return { firstMet, reactions };
    }
  }
  return { firstMet: firstMet ?? false, reactions };
}

/** The request, and the result of a tool for a person with tools. */
export function asking(
  { usesTools }: Person,
  text: string,
  topic: { readonly items: readonly string[] },
): readonly ChatMessage[] {
  const user: ChatMessage = { role: 'user', content: text };
  if (!usesTools) return [user];
  const call = { id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } };
  return [
    user,
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: `Found: ${topic.items.join(', ')}` },
  ];
}

function faultsOf({ wantsContent, taste }: Person, session: number, ask: Ask, answer: string) {
  const faults = taste(session).faults(answer);
  const isEmpty = wantsContent && factsNamed(answer, ask.topic.entry.items) < LEAST_FACTS;
  return isEmpty ? (['content', ...faults] as const) : faults;
}

/** English messages that say nothing about an answer. */
const plainWords = readNextMessages(plainCorpus)
  .filter(({ lang }) => lang === 'en')
  .map(({ text }) => text);

/** A mistaken complaint is about any fault of the voice. */
function words(
  { voice, praises }: Person,
  session: number,
  { meant, fault }: Reaction,
  random: Random,
): string {
  const { praise, complaints } = voice(session);
  if (meant === 'good') return pick(random, praises ? praise : plainWords);
  return pick(random, (fault && complaints[fault]) ?? Object.values(complaints).flat());
}

function askedAgain(
  { way }: Person,
  ask: Ask,
  { messages, answered }: Readonly<Record<'messages' | 'answered', readonly ChatMessage[]>>,
  random: Random,
): readonly ChatMessage[] {
  if (way === 'regenerates') return messages;
  const text = way === 'repeats' ? ask.text : otherWording(ask, random);
  return [...answered, { role: 'user', content: text }];
}

/** The same topic in other words, if there are any. */
function otherWording({ topic, text }: Ask, random: Random): string {
  const others = topic.family.asks
    .map((template) => template.replaceAll('{topic}', topic.entry.topic))
    .filter((other) => other !== text);
  return others.length === 0 ? text : pick(random, others);
}
