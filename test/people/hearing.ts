import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { type WishKind, wishesIn } from '../../shared/wishes/wishes.ts';
import type { Reaction } from './session.ts';
import type { Fault } from './voices/voice.ts';

/** Counts of what a person meant and what the judge made of it. */
export type Hearing = {
  readonly complaints: number;
  readonly praise: number;
  /** verdicts of -1 */
  readonly calledBad: number;
  readonly calledGood: number;
  readonly badAsBad: number;
  readonly badAsGood: number;
  readonly goodAsGood: number;
  /** complaints in words whose judgment has a hint that says what was meant, and those that could have one */
  readonly hints: number;
  readonly wishes: number;
};

/** Hints that are right for a complaint. */
const meantBy: Readonly<Record<Fault, readonly WishKind[]>> = {
  greeting: ['no-greeting', 'only-answer'],
  list: ['no-list', 'no-markdown'],
  closing: ['no-closing', 'only-answer'],
  long: ['one-sentence', 'shorter', 'only-answer'],
  prose: ['list', 'steps'],
  cold: ['closing'],
  content: [],
  source: [],
};

type Verdict = {
  readonly score: number | null;
  readonly hints: readonly string[];
  /** of evidence that is none but what the person did next */
  readonly isImplicit?: boolean;
};

/** Compares what the judge says of each turn with what the person meant by their reaction. */
export function createHearing() {
  const reactions: Reaction[] = [];
  const verdicts = new Map<string, Verdict>();
  return {
    meant: (told: readonly Reaction[]): void => void reactions.push(...told),
    on: (event: ClawLoopEvent): void => {
      if (event.type === 'judgment.reached') {
        const { turnId, score, hints, source } = event.data;
        verdicts.set(turnId, { score, hints, isImplicit: source === 'implicit' });
      }
      if (event.type === 'judgment.revised') {
        const { turnId, score, hints } = event.data;
        const before = verdicts.get(turnId);
        verdicts.set(turnId, {
          score: score ?? before?.score ?? null,
          hints: [...(before?.hints ?? []), ...hints],
        });
      }
    },
    sum: (): Hearing => sumUp(reactions, verdicts),
  };
}

export function sumUp(reactions: readonly Reaction[], verdicts: ReadonlyMap<string, Verdict>): Hearing {
  const reacted = new Set(reactions.map(({ id }) => id));
  // Who goes on to the next question behind a word of thanks means nothing by it.
  const counted = [...verdicts].filter(([id, { isImplicit }]) => reacted.has(id) || isImplicit !== true);
  const signs = counted.map(([, { score }]) => Math.sign(score ?? 0));
  const count = (meant: Reaction['meant'], sign: number) =>
    reactions.filter((one) => one.meant === meant && signOf(verdicts, one) === sign).length;
  const wishing = reactions.filter(({ fault }) => fault !== undefined && meantBy[fault].length > 0);
  return {
    complaints: reactions.filter(({ meant }) => meant === 'bad').length,
    praise: reactions.filter(({ meant }) => meant === 'good').length,
    calledBad: signs.filter((sign) => sign < 0).length,
    calledGood: signs.filter((sign) => sign > 0).length,
    badAsBad: count('bad', -1),
    badAsGood: count('bad', 1),
    goodAsGood: count('good', 1),
    hints: wishing.filter((one) => saysIt(one, verdicts.get(one.id)?.hints ?? [])).length,
    wishes: wishing.length,
  };
}

const signOf = (verdicts: ReadonlyMap<string, Verdict>, { id }: Reaction) =>
  Math.sign(verdicts.get(id)?.score ?? 0);

/** A hint in the person's own words counts; one of the table counts where it is the right one. */
function saysIt({ fault }: Reaction, hints: readonly string[]): boolean {
  if (hints.length === 0) return false;
  const kinds = hints.flatMap(wishesIn);
  return kinds.length === 0 || kinds.some((kind) => meantBy[fault!].includes(kind));
}
