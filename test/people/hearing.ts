import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { type WishKind, wishesIn } from '../../shared/wishes/wishes.ts';
import type { Reaction } from './session.ts';
import type { Fault } from './voices/voice.ts';

/** Counts of a person's intended reactions and of the judge's results for them. */
export type Hearing = {
  readonly complaints: number;
  readonly praise: number;
  /** verdicts of -1 */
  readonly calledBad: number;
  readonly calledGood: number;
  readonly badAsBad: number;
  readonly badAsGood: number;
  readonly goodAsGood: number;
  /** complaints in words whose judgment has the right hint, and those that could have one */
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
  /** the judgment comes only from the person's next action, without words */
  readonly isImplicit?: boolean;
};

/** Compares the judgment on each turn with the intended reaction of the person. */
export function createHearing() {
  const reactions: Reaction[] = [];
  const verdicts = new Map<string, Verdict>();
  return {
    meant: (more: readonly Reaction[]): void => void reactions.push(...more),
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
  // A next question right after thanks is no reaction of the scripted person.
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

/** A hint in the person's own words counts; a hint of the table counts if it is the right one. */
function saysIt({ fault }: Reaction, hints: readonly string[]): boolean {
  if (hints.length === 0) return false;
  const kinds = hints.flatMap(wishesIn);
  return kinds.length === 0 || kinds.some((kind) => meantBy[fault!].includes(kind));
}
