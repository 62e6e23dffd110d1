import { createRandom, hashOf, type Random } from '../chaos/histories/random.ts';

/** What a person does at one time, in simulated hours since the start. */
export type Visit = {
  readonly at: number;
  /** Goes on with the conversation of this number, or begins it. */
  readonly conversation: number;
  readonly isNamed: boolean;
  /** Waits in hours before each of its messages. */
  readonly waits: readonly number[];
  /** Ends the session afterwards; otherwise it stays open until it is idle, or until the person comes back. */
  readonly isEnd: boolean;
};

const DAY = 24;
const MINUTE = 1 / 60;

/**
 * A person's days. Each has a morning that takes up yesterday's last conversation, a conversation by day, sometimes
 * with a long break, and one in the evening that pauses overnight. People live in all time zones, so that each hour has
 * about as many requests.
 */
export function diaryOf(seed: number, person: number, hours: number): readonly Visit[] {
  const random = createRandom(hashOf(`diary/${seed}/${person}`));
  const zone = random.next() * DAY;
  const days = Array.from({ length: Math.ceil(hours / DAY) + 1 }, (_, day) =>
    dayOf(random, (day - 1) * DAY + zone, day * 2),
  );
  return days
    .flat()
    .filter(({ at }) => at >= 0 && at < hours)
    .sort((a, b) => a.at - b.at);
}

function dayOf(random: Random, wakes: number, first: number): readonly Visit[] {
  const wait = () => (1 + random.int(10)) * MINUTE;
  const waits = (count: number) => Array.from({ length: count }, wait);
  const isNamed = (conversation: number) => hashOf(`named/${conversation}`) % 2 === 0;
  const [byDay, evening] = [first + 1, first + 2];
  const dayWaits = waits(2 + random.int(3));
  if (random.chance(0.2)) dayWaits.push(1 + random.next() * 3);
  return [
    { at: wakes, conversation: first, isNamed: isNamed(first), waits: waits(1), isEnd: random.chance(0.8) },
    {
      at: wakes + 1 + random.next() * 6,
      conversation: byDay,
      isNamed: isNamed(byDay),
      waits: dayWaits,
      isEnd: random.chance(0.6),
    },
    {
      at: wakes + 10 + random.next() * 4,
      conversation: evening,
      isNamed: isNamed(evening),
      waits: waits(1 + random.int(2)),
      isEnd: false,
    },
  ];
}
