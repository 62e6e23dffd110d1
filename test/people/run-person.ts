import { wishMet } from '../../shared/wishes/measure.ts';
import { type WishKind, wishes } from '../../shared/wishes/wishes.ts';
import { share, untilThreeInARow } from '../bench/learning/cell.ts';
import { type Evaluation, gradeAnswers, heldOutQuestions } from '../bench/learning/evaluate.ts';
import { createHearing, type Hearing } from './hearing.ts';
import type { Person } from './people.ts';
import { asking, holdSession } from './session.ts';
import type { Taste } from './tastes.ts';
import type { OpenWorld, World } from './world.ts';

/** Shares of answers to held-out prompts; `met`: mean over the person's tastes. */
export type State = Pick<Evaluation, 'answers' | 'met' | 'onTopic' | 'onTopicWhenMet'> & {
  /** share of the answers that differ from all others */
  readonly distinct: number;
  /** mean characters */
  readonly length: number;
};

export type RunKey = { readonly person: string; readonly seed: number; readonly learning: boolean };

export type PersonReport = RunKey & {
  readonly sessions: number;
  readonly start: State;
  readonly end: State;
  /** the minimum of the evaluations during the run, one every `LOOK_EVERY` sessions */
  readonly leastOnTopic: number;
  readonly leastDistinct: number;
  /** looks with `AGAIN` times as many, and other, answers: of the start, and of each version whose look was `LESS` or more under it */
  readonly again: {
    readonly looks: number;
    readonly start: number;
    /** null: no version was looked at again */
    readonly leastOnTopic: number | null;
  };
  /** share of the answers that meet a wish in their request, for any taste of the person: at the start, at the end */
  readonly steered: readonly [start: number, end: number];
  readonly hearing: Hearing;
  /** for each stretch with one taste, the sessions until three first answers in a row met it; null: never */
  readonly untilMet: readonly (number | null)[];
  /** share of the first answers of the last ten sessions that met the taste */
  readonly lately: number;
  readonly klToBase: number | null;
  readonly versions: number;
  readonly rejected: number;
  readonly seconds: number;
};

const LOOK_EVERY = 20;
/** Points on topic under the start that a look of few answers may show by chance. */
const LESS = 0.03;
/** Answers of a second look for each answer of the first: the standard error is a third. */
const AGAIN = 8;

export type RunOptions = {
  readonly seed: number;
  readonly sessions: number;
  readonly learning: boolean;
  /** held-out answers at the start and at the end */
  readonly answers: number;
};

/** Runs one person with their own ClawLoop. Throws the signal's reason between two sessions. */
export async function runPerson(
  open: OpenWorld,
  person: Person,
  { seed, sessions, learning, answers }: RunOptions,
  hooks: { readonly signal: AbortSignal; readonly onSession: (session: number) => void },
): Promise<PersonReport> {
  const began = performance.now();
  const hearing = createHearing();
  const facts: Record<string, number> = {};
  const world = await open({ seed: `${person.name}/${seed}`, learning }, (event) => {
    facts[event.type] = (facts[event.type] ?? 0) + 1;
    hearing.on(event);
  });
  try {
    const { begin, look, found } = createLooks((of, count) => stateOf(world, person, of, count), {
      seed,
      answers,
      served: world.served,
    });
    const { start, startAgain } = await begin();
    const steeredAtStart = await steered(world, seed);
    const firstMet: boolean[] = [];
    for (let session = 1; session <= sessions; session++) {
      hooks.signal.throwIfAborted();
      const held = await holdSession(person, { seed, session }, world.client);
      hearing.meant(held.reactions);
      firstMet.push(held.firstMet);
      await unlessAborted(world.settle(), hooks.signal);
      if (session % LOOK_EVERY === 0) await look();
      hooks.onSession(session);
    }
    const end = await look();
    const { states, again } = found();
    return {
      person: person.name,
      seed,
      learning,
      sessions,
      start,
      end,
      leastOnTopic: Math.min(...states.map(({ onTopic }) => onTopic)),
      leastDistinct: Math.min(...states.map(({ distinct }) => distinct)),
      again: {
        looks: again.length,
        start: startAgain.onTopic,
        leastOnTopic: again.length === 0 ? null : Math.min(...again.map(({ onTopic }) => onTopic)),
      },
      steered: [steeredAtStart, await steered(world, seed)],
      hearing: hearing.sum(),
      untilMet: stretches(firstMet, person.taste).map(untilThreeInARow),
      lately: share(firstMet.slice(-10)),
      klToBase: await world.klToBase(),
      versions: facts['policy.promoted'] ?? 0,
      rejected: facts['policy.rejected'] ?? 0,
      seconds: Math.round((performance.now() - began) / 100) / 10,
    };
  } finally {
    await world.close();
  }
}

/** Looks at what is served, each version once. A look that is low by more than `LESS` is followed by a larger one. */
function createLooks(
  stateWith: (seed: number | string, answers: number) => Promise<State>,
  {
    seed,
    answers,
    served,
  }: { readonly seed: number; readonly answers: number; readonly served: () => number },
) {
  const looks = new Map<number, State>();
  const again: State[] = [];
  const lookAgain = () => stateWith(`${seed}/again`, AGAIN * answers);
  /** the larger look at the start, which varies less */
  let base = Number.NEGATIVE_INFINITY;
  const look = async (): Promise<State> => {
    const version = served();
    const known = looks.get(version);
    if (known !== undefined) return known;
    const state = await stateWith(seed, answers);
    looks.set(version, state);
    if (state.onTopic <= base - LESS) again.push(await lookAgain());
    return state;
  };
  const begin = async () => {
    const [start, startAgain] = [await look(), await lookAgain()];
    base = startAgain.onTopic;
    return { start, startAgain };
  };
  return { begin, look, found: () => ({ states: [...looks.values()], again }) };
}

/** Ctrl-C may have ended the services too; then nothing settles. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<never>();
  const onAbort = () => stopped.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort);
  try {
    await Promise.race([work, stopped.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => {});
  }
}

/** Held-out requests come as the person sends theirs: with the result of a tool, if they use tools. */
async function stateOf(world: World, person: Person, seed: number | string, answers: number): Promise<State> {
  const { measured } = person;
  const { asked, questions } = heldOutQuestions(seed, answers);
  const texts = await world.answers(
    questions.map((question, index) => {
      const { text, facts } = asked[index]!;
      return { ...question, messages: asking(person, text, { items: facts }) };
    }),
  );
  const graded = measured.map(({ faults }) => gradeAnswers(asked, texts, { complaints: faults }));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    answers,
    met: rounded(mean(graded.map(({ met }) => met))),
    onTopic: graded[0]!.onTopic,
    onTopicWhenMet: graded[0]!.onTopicWhenMet,
    distinct: rounded(new Set(texts).size / answers),
    length: Math.round(mean(texts.map((text) => text.length))),
  };
}

/** Wishes that claw-nano's base knows, and requests of each. */
const steering = {
  kinds: ['list', 'greeting', 'one-sentence'] satisfies readonly WishKind[],
  requests: 16,
} as const;

async function steered(world: World, seed: number): Promise<number> {
  const { questions } = heldOutQuestions(seed, steering.requests);
  const asked = steering.kinds.flatMap((kind) =>
    questions.map(({ messages, ...rest }) => ({
      kind,
      question: {
        ...rest,
        messages: messages.map((one) => ({ ...one, content: `${one.content} ${wishes[kind].hint}` })),
      },
    })),
  );
  const texts = await world.answers(asked.map(({ question }) => question));
  const met = texts.map((text, index) => (wishMet(asked[index]!.kind, text) ?? 0) > 0.5);
  return rounded(share(met));
}

const rounded = (value: number): number => Number(value.toFixed(4));

/** Sessions. With shorter stretches, three answers in a row rarely meet the same taste. */
const SHORTEST_STRETCH = 6;

/** The first answers of a run, cut at each change of taste; uncut if the taste changes all the time. */
export function stretches(
  firstMet: readonly boolean[],
  taste: (session: number) => Taste,
): readonly (readonly boolean[])[] {
  const cut: boolean[][] = [];
  for (const [index, met] of firstMet.entries()) {
    if (index === 0 || taste(index + 1) !== taste(index)) cut.push([]);
    cut.at(-1)!.push(met);
  }
  return cut.slice(0, -1).some(({ length }) => length < SHORTEST_STRETCH) ? [firstMet] : cut;
}
