import { expect, test } from 'vitest';
import { VoteCast } from '../../shared/events/vote-cast.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { judgeFold } from './judge-fold.ts';
import { turnCompleted, voteCast } from './testing/events.ts';
import { complaintRate } from './weak-evidence.ts';

const rules = { votes: 1, revises: true, weakVerdict: 0.25 };

function openPerson() {
  const rows = memoryRows();
  let turn = 0;
  /** @returns the verdict on one more turn */
  const judge = (vote: -1 | 0 | 1, reaction?: 'moved-on' | 'asked-again', kept = false) => {
    const id = `t${turn++}`;
    const cast = voteCast(id, 0, vote);
    const { subject: _, ...fields } = cast;
    const events = [
      turnCompleted(id, {}, kept ? { implies: 'kept' } : {}),
      VoteCast.create({ ...fields, data: { ...cast.data, ...(reaction && { reaction }) } }),
    ];
    for (const [index, event] of events.entries()) {
      const { changes, emit } = judgeFold.on(rows, event, { partition: 0, offset: 2 * turn + index }, rules);
      rows.apply(changes);
      for (const fact of emit)
        if (!('reads' in fact) && fact.type === 'judgment.reached') {
          const { score, source, advantage, implied } = fact.data;
          return { score, source, advantage, implied };
        }
    }
    return undefined;
  };
  return judge;
}

test('moving on means nothing for a person who never complained', () => {
  const judge = openPerson();
  for (let i = 0; i < 20; i++) expect(judge(0, 'moved-on')).toMatchObject({ score: 0, source: 'votes' });
});

test('the more often a person complains, the more their silence means', () => {
  const weights = [0.1, 0.3, 0.6].map((share) => {
    const judge = openPerson();
    for (let i = 0; i < 40; i++) judge(i % 10 < 10 * share ? -1 : 1);
    return judge(0, 'moved-on')!.score!;
  });
  expect(weights).toEqual([...weights].sort((a, b) => a - b));
  expect(weights[0]).toBeGreaterThan(0);
  expect(weights[2]).toBe(0.25);
});

test('the complaint rate decays with age and starts from four good turns', () => {
  expect(complaintRate({ judged: 0, bad: 0 })).toBe(0);
  expect(complaintRate({ judged: 16, bad: 6 })).toBe(0.3);
});

test('a repeated request is weakly bad, a kept answer weakly good; votes outrank both', () => {
  const judge = openPerson();
  expect(judge(0, 'asked-again')).toEqual({
    score: -0.25,
    advantage: -0.25,
    source: 'implicit',
    implied: 'asked-again',
  });
  expect(judge(0, undefined, true)).toMatchObject({ score: 0.25, source: 'implicit', implied: 'kept' });
  expect(judge(1, 'asked-again')).toMatchObject({ score: 1, source: 'votes' });
});
