import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { type WishKind, wishes, wishesIn } from '../../../shared/wishes/wishes.ts';

/** Two people on one adapter of whom one wants what the other does not. */
export type OppositePeople = {
  readonly adapter: string;
  /** ids of their access keys, and the `user` that a client named, where they share one */
  readonly people: readonly [string, string];
  /** the hints that say their wishes */
  readonly wishes: readonly [string, string];
};

type Said = { readonly adapter: string; readonly person: string };
type Wished = ReadonlyMap<WishKind, number>;

/** Once said is a slip, or another mood. */
const OFTEN_ENOUGH = 2;
/** Turns of which is remembered who spoke; the latest stand last. */
const REMEMBERED = 20_000;

/** Who wants what, by the hints that judges found. Feed it conversations and turns. */
export function createPeopleView() {
  const speakers = new Map<string, Said>();
  /** by adapter and person: how often each wish was told since it was last contradicted by themselves */
  const people = new Map<string, Map<string, Map<WishKind, number>>>();

  const note = ({ adapter, person }: Said, kinds: readonly WishKind[]): void => {
    const mine = people.get(adapter) ?? new Map<string, Map<WishKind, number>>();
    people.set(adapter, mine);
    const wished = mine.get(person) ?? new Map<WishKind, number>();
    mine.set(person, wished);
    for (const kind of kinds) {
      // who changed their mind wants the latter
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
    const said = speakers.get(event.data.turnId);
    const kinds = event.data.hints.flatMap(wishesIn);
    if (said !== undefined && kinds.length > 0) note(said, kinds);
  };

  const opposite = (): readonly OppositePeople[] =>
    [...people].flatMap(([adapter, mine]) => {
      const all = [...mine];
      // one pair tells as much as all of them
      for (const [index, [one, wished]] of all.entries())
        for (const [other, wishedByOther] of all.slice(index + 1)) {
          const pair = contradiction(wished, wishedByOther);
          if (pair !== undefined) return [{ adapter, people: [one, other] as const, wishes: pair }];
        }
      return [];
    });
  return { on, opposite };
}

const contradict = (one: WishKind, other: WishKind): boolean =>
  (wishes[one].against as readonly WishKind[]).includes(other) ||
  (wishes[other].against as readonly WishKind[]).includes(one);

function contradiction(one: Wished, other: Wished): readonly [string, string] | undefined {
  const often = (wished: Wished) =>
    [...wished].flatMap(([kind, count]) => (count < OFTEN_ENOUGH ? [] : [kind]));
  for (const mine of often(one))
    for (const theirs of often(other))
      if (contradict(mine, theirs)) return [wishes[mine].hint, wishes[theirs].hint];
  return undefined;
}
