import { endsFriendly, sentences } from '../bench/learning/tastes.ts';
import { hasGreeting, hasList } from '../e2e/demo/taste.ts';
import type { Fault } from './voices/voice.ts';

/** The wishes of a person for an answer. */
export type Taste = {
  readonly name: string;
  /** The faults of an answer, the worst first; none if it meets the taste. */
  readonly faults: (answer: string) => readonly Fault[];
};

const where = (faults: Readonly<Partial<Record<Fault, boolean>>>): readonly Fault[] =>
  (Object.keys(faults) as Fault[]).filter((fault) => faults[fault]);

const orEmpty =
  (faults: Taste['faults']): Taste['faults'] =>
  (answer) =>
    answer.trim() === '' ? ['content'] : faults(answer);

export const matterOfFact: Taste = {
  name: 'matter-of-fact',
  faults: orEmpty((answer) =>
    where({ greeting: hasGreeting(answer), list: hasList(answer), closing: endsFriendly(answer) }),
  ),
};

export const oneSentence: Taste = {
  name: 'one sentence',
  faults: orEmpty((answer) => where({ long: sentences(answer) !== 1 || hasList(answer) })),
};

export const bareList: Taste = {
  name: 'bare list',
  faults: orEmpty((answer) =>
    where({ greeting: hasGreeting(answer), prose: !hasList(answer), closing: endsFriendly(answer) }),
  ),
};

export const kindWords: Taste = {
  name: 'kind words at the end',
  faults: orEmpty((answer) => where({ cold: !endsFriendly(answer) })),
};

/** claw-nano knows no sources. */
export const namedSource: Taste = {
  name: 'a named source',
  faults: (answer) => where({ source: !/\b(?:source|according to|published|https?:)/i.test(answer) }),
};
