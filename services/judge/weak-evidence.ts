import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import type { Table } from '../../shared/log/rows.ts';
import type { OpenTurn, PersonRow } from './judge-rows.ts';

type Implied = NonNullable<JudgmentReached['data']['implied']>;
type Verdict = Pick<JudgmentReached['data'], 'score' | 'mean' | 'source' | 'advantage' | 'implied'>;

/** Of what is known of a person, per judged turn: half is forgotten after 35. */
export const PERSON_DECAY = 0.98;
/** Judged turns without a complaint that a person is thought to have had before the first one. */
const PRIOR_TURNS = 4;
/** A person who complains less often than this tells nothing by silence. */
const LEAST_RATE = 0.05;
/** One who complains at least so often means a whole weak verdict by it. */
const FULL_RATE = 0.5;

/** A weak verdict by what a person did. It is told as an advantage: against no baseline may it change its sign. */
export function impliedVerdict(implied: Implied, weight: number): Verdict {
  const score = implied === 'kept' || implied === 'moved-on' ? weight : -weight;
  return { score, mean: 0, source: 'implicit', implied, ...(score === 0 ? {} : { advantage: score }) };
}

/** How often a person complains, 0 to 1. */
export const complaintRate = ({ judged, bad }: PersonRow): number => bad / (judged + PRIOR_TURNS);

export function notePerson(people: Table<PersonRow>, key: string, score: number): void {
  const { judged, bad } = people.get(key) ?? { judged: 0, bad: 0 };
  people.set(key, { judged: PERSON_DECAY * judged + 1, bad: PERSON_DECAY * bad + (score < 0 ? 1 : 0) });
}

/**
 * Where no vote says anything of the answer and no hint came: what the person did may. Whoever goes on to another
 * subject was content as far as they would have complained otherwise.
 */
export function silentVerdict(turn: OpenTurn, people: Table<PersonRow>, weight: number): Verdict | undefined {
  const votes = Object.values(turn.votes);
  // a vote of null could not be read, or is that of a judge that is not heard
  const valid = votes.filter(({ vote }) => vote !== null);
  if (weight === 0 || valid.length === 0 || valid.some(({ vote }) => vote !== 0)) return undefined;
  const [reaction] = valid.map((one) => one.reaction);
  if (reaction === 'asked-again') return impliedVerdict(reaction, weight);
  if (turn.kept) return impliedVerdict('kept', weight);
  const rate = complaintRate(people.get(turn.key) ?? { judged: 0, bad: 0 });
  if (reaction !== 'moved-on' || rate < LEAST_RATE) return undefined;
  return impliedVerdict(reaction, Number((weight * Math.min(1, rate / FULL_RATE)).toFixed(3)));
}
