import type { JudgmentReached } from '../../shared/events/judgment-reached.ts';
import { defined } from '../../shared/lang/defined.ts';
import type { Table } from '../../shared/log/rows.ts';
import type { OpenTurn, PersonRow } from './judge-rows.ts';

type Implied = NonNullable<JudgmentReached['data']['implied']>;
type Verdict = Pick<JudgmentReached['data'], 'score' | 'mean' | 'source' | 'advantage' | 'implied'>;

/** Factor per judged turn on the counts of a person: half of them is forgotten after 35 turns. */
export const PERSON_DECAY = 0.98;
/** Turns without a complaint that are assumed before the first judged turn of a person. */
const PRIOR_TURNS = 4;
/** The silence of a person who complains less often than this means nothing. */
const LEAST_RATE = 0.05;
/** The silence of a person who complains at least this often gives a full weak verdict. */
const FULL_RATE = 0.5;

/** A weak verdict from what a person did. It is sent as an advantage, so no baseline can change its sign. */
export function impliedVerdict(implied: Implied, weight: number): Verdict {
  const score = implied === 'kept' || implied === 'moved-on' ? weight : -weight;
  return {
    score,
    mean: 0,
    source: 'implicit',
    implied,
    ...defined({ advantage: score === 0 ? undefined : score }),
  };
}

/** How often a person complains, 0 to 1. */
export const complaintRate = ({ judged, bad }: PersonRow): number => bad / (judged + PRIOR_TURNS);

export function notePerson(people: Table<PersonRow>, key: string, score: number): void {
  const { judged, bad } = people.get(key) ?? { judged: 0, bad: 0 };
  people.set(key, { judged: PERSON_DECAY * judged + 1, bad: PERSON_DECAY * bad + (score < 0 ? 1 : 0) });
}

/**
 * The verdict of a turn whose votes are all 0 and brought no hint, from what the person did. A person who moves on
 * to another subject was content, as far as they usually complain when they are not.
 */
export function silentVerdict(turn: OpenTurn, people: Table<PersonRow>, weight: number): Verdict | undefined {
  const votes = Object.values(turn.votes);
  // null: the vote could not be parsed, or its judge has not passed its exam
  const valid = votes.filter(({ vote }) => vote !== null);
  if (weight === 0 || valid.length === 0 || valid.some(({ vote }) => vote !== 0)) return undefined;
  const [reaction] = valid.map((cast) => cast.reaction);
  if (reaction === 'asked-again') return impliedVerdict(reaction, weight);
  if (turn.kept) return impliedVerdict('kept', weight);
  const rate = complaintRate(people.get(turn.key) ?? { judged: 0, bad: 0 });
  if (reaction !== 'moved-on' || rate < LEAST_RATE) return undefined;
  return impliedVerdict(reaction, Number((weight * Math.min(1, rate / FULL_RATE)).toFixed(3)));
}
