import { z } from 'zod';
import type { ClawLoopEvent } from '../events/catalogue.ts';
import { type WishKind, wishes, wishesIn, wishKinds } from '../wishes/wishes.ts';

/** Two people on one adapter with opposite wishes. */
export type OppositePeople = {
  readonly adapter: string;
  /** ids of their access keys, with the `user` of the request if it names one */
  readonly people: readonly [string, string];
  /** the hints that express their wishes */
  readonly wishes: readonly [string, string];
};

type Speaker = { readonly adapter: string; readonly person: string };
type WishCounts = ReadonlyMap<WishKind, number>;

/** A single mention may be a slip or a mood. */
const FEWEST_MENTIONS = 2;
/** Turns whose speaker is remembered, in order of arrival. */
const REMEMBERED = 20_000;

export const peopleTypes = ['interaction.completed', 'judgment.reached', 'judgment.revised'] as const;

export const peopleState = z.object({
  speakers: z.array(z.tuple([z.string(), z.object({ adapter: z.string(), person: z.string() })])),
  /** mentions of each wish */
  people: z.array(
    z.object({
      adapter: z.string(),
      person: z.string(),
      wished: z.array(z.tuple([z.enum(wishKinds), z.int()])),
    }),
  ),
});
type PeopleState = z.output<typeof peopleState>;

/** What each person wants, by the hints of the judgments. Feed it conversations and turns. */
export function createPeopleView(from?: PeopleState) {
  const speakers = new Map<string, Speaker>(from?.speakers);
  /** by adapter and person: mentions of each wish since the person last contradicted it */
  const people = new Map<string, Map<string, Map<WishKind, number>>>();
  for (const { adapter, person, wished } of from?.people ?? []) {
    const byPerson = people.get(adapter) ?? new Map<string, Map<WishKind, number>>();
    people.set(adapter, byPerson.set(person, new Map(wished)));
  }

  const note = ({ adapter, person }: Speaker, kinds: readonly WishKind[]): void => {
    const byPerson = people.get(adapter) ?? new Map<string, Map<WishKind, number>>();
    people.set(adapter, byPerson);
    const wished = byPerson.get(person) ?? new Map<WishKind, number>();
    byPerson.set(person, wished);
    for (const kind of kinds) {
      // a change of mind: the later wish counts
      for (const other of wished.keys()) if (contradict(kind, other)) wished.delete(other);
      wished.set(kind, (wished.get(kind) ?? 0) + 1);
    }
  };

  const on = (event: ClawLoopEvent): void => {
    if (event.type === 'interaction.completed') {
      const { interactionId, adapter, key, user } = event.data;
      speakers.set(interactionId, { adapter, person: user === undefined ? key : `${key} (${user})` });
      if (speakers.size > REMEMBERED) speakers.delete(speakers.keys().next().value!);
    }
    if (event.type !== 'judgment.reached' && event.type !== 'judgment.revised') return;
    const speaker = speakers.get(event.data.turnId);
    const kinds = event.data.hints.flatMap(wishesIn);
    if (speaker !== undefined && kinds.length > 0) note(speaker, kinds);
  };

  const opposite = (): readonly OppositePeople[] =>
    [...people].flatMap(([adapter, byPerson]) => {
      const all = [...byPerson];
      // one pair is enough
      for (const [index, [one, wished]] of all.entries())
        for (const [other, wishedByOther] of all.slice(index + 1)) {
          const pair = contradiction(wished, wishedByOther);
          if (pair !== undefined) return [{ adapter, people: [one, other] as const, wishes: pair }];
        }
      return [];
    });
  const state = (): PeopleState => ({
    speakers: [...speakers],
    people: [...people].flatMap(([adapter, byPerson]) =>
      [...byPerson].map(([person, wished]) => ({ adapter, person, wished: [...wished] })),
    ),
  });
  return { on, opposite, state };
}

const contradict = (one: WishKind, other: WishKind): boolean =>
  (wishes[one].against as readonly WishKind[]).includes(other) ||
  (wishes[other].against as readonly WishKind[]).includes(one);

function contradiction(one: WishCounts, other: WishCounts): readonly [string, string] | undefined {
  const often = (wished: WishCounts) =>
    [...wished].flatMap(([kind, count]) => (count < FEWEST_MENTIONS ? [] : [kind]));
  for (const wish of often(one))
    for (const opposite of often(other))
      if (contradict(wish, opposite)) return [wishes[wish].hint, wishes[opposite].hint];
  return undefined;
}
