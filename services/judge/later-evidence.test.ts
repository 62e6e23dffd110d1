import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { MOST_REVISIONS } from '../../shared/events/sample-id.ts';
import { TurnContinued } from '../../shared/events/turn-continued.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import { judgeFold } from './judge-fold.ts';
import type { JudgeSettings } from './judge-settings.ts';
import {
  hintCast,
  turnCompleted,
  turnFeedback,
  turnWithdrawn,
  user,
  voteCast,
  voteExpired,
} from './testing/events.ts';
import { owedVotes } from './testing/owed-votes.ts';

const rules: JudgeSettings = { votes: 1, revises: true, weakVerdict: 0.25 };

function openRun(settings: JudgeSettings = rules) {
  const rows = memoryRows();
  const judgments: string[] = [];
  let offset = 0;
  return {
    judgments,
    on(...events: readonly ClawLoopEvent[]) {
      for (const event of events) {
        const { changes, emit } = judgeFold.on(rows, event, { partition: 0, offset }, settings);
        offset += 1;
        rows.apply(changes);
        for (const one of emit) if (!('reads' in one)) judgments.push(line(one));
      }
      return judgments;
    },
    owed: () => owedVotes('lane-1', rows).map(({ id }) => id),
  };
}

function line(event: ClawLoopEvent): string {
  if (event.type !== 'judgment.reached' && event.type !== 'judgment.revised') return event.type;
  const { turnId, score, source, hints } = event.data;
  const n = event.type === 'judgment.revised' ? `~${event.data.n}` : '';
  return [`${turnId}${n} ${score} by ${source}`, ...hints].join(': ');
}

const silent = (id: string) => turnCompleted(id, { next: [] }, { from: null, by: 'f' });
const continued = (id: string) => {
  const { id: _, ...envelope } = turnCompleted(id, { next: [user('No lists, please.')] });
  return TurnContinued.create({ ...envelope, id: `${id}/continued` });
};
const thumb = (score: number, given = `thumb ${score}`) => turnFeedback('t', score, given);

test('feedback without words gives the verdict and owes no votes', () => {
  const run = openRun();
  run.on(silent('t'));
  expect(run.owed()).toEqual([]);
  expect(run.on(thumb(-1))).toEqual(['t -1 by feedback']);
  expect(run.owed()).toEqual([]);
});

test('feedback before words gives the verdict; the hint follows as a revision', () => {
  const run = openRun();
  expect(run.on(silent('t'), thumb(-1), continued('t'))).toEqual(['t -1 by feedback']);
  expect(run.owed()).toEqual(['t/vote/0']);
  expect(run.on(voteCast('t', 0, -1, 'No lists, please.')).at(-1)).toBe(
    't~1 null by votes: No lists, please.',
  );
  expect(run.owed()).toEqual([]);
});

test('words after positive feedback give no hint, even if the judge takes them for a complaint', () => {
  const run = openRun({ ...rules, likedGivesNoHint: true });
  run.on(silent('t'), thumb(1), continued('t'));
  expect(run.owed()).toEqual([]);
  expect(run.on(voteCast('t', 0, -1, 'But shorter, please.'))).toEqual(['t 1 by feedback']);
});

test('a thumb up that comes before the votes about the words drops their hint', () => {
  const run = openRun({ ...rules, likedGivesNoHint: true });
  run.on(silent('t'), thumb(-1), continued('t'), thumb(1));
  expect(run.owed()).toEqual(['t/vote/0']);
  expect(run.on(voteCast('t', 0, -1, 'But shorter, please.'))).toEqual([
    't -1 by feedback',
    't~1 1 by feedback',
  ]);
});

test('a thumb up drops a hint that came before it, while votes were still out', () => {
  const hinted = [turnCompleted('t'), hintCast('t', 0, 'No lists, please.'), thumb(1)];
  const asked = { ...rules, votes: 3, hintVotes: 1 };
  expect(openRun({ ...asked, thumbsSettle: true }).on(...hinted)).toEqual(['t 1 by feedback']);
  expect(openRun(asked).on(...hinted)).toEqual(['t 1 by feedback: No lists, please.']);
});

test('a thumb down with a comment after a complaint brings the comment, but no second verdict', () => {
  const thumbDown = turnFeedback('t', -1, 'thumb', 'You never read my question');
  const told = [turnCompleted('t'), voteCast('t', 0, -1, 'No lists, please.'), thumbDown];
  const settled = openRun({ ...rules, thumbsSettle: true });
  expect(settled.on(...told)).toEqual([
    't -1 by votes: No lists, please.',
    't~1 null by feedback: You never read my question',
  ]);
  // its source is now feedback, so only feedback changes it
  expect(settled.on(thumb(1)).at(-1)).toBe('t~2 1 by feedback');
});

test('a revision says whether its hints were stated before', () => {
  const revised = (comment?: string) => {
    const rows = memoryRows();
    const events = [
      turnCompleted('t'),
      voteCast('t', 0, 0, 'No lists, please.'),
      turnFeedback('t', -1, 'f', comment),
    ];
    return events.flatMap((event, offset) => {
      const settings = { ...rules, thumbsSettle: true };
      const { changes, emit } = judgeFold.on(rows, event, { partition: 0, offset }, settings);
      rows.apply(changes);
      return emit.flatMap((one) =>
        'type' in one && one.type === 'judgment.revised' ? [one.data.repeats] : [],
      );
    });
  };
  expect(revised()).toEqual([true]);
  expect(revised('You never read my question')).toEqual([undefined]);
});

test('in logs of older versions they give one', () => {
  const run = openRun();
  run.on(silent('t'), thumb(1), continued('t'), voteCast('t', 0, -1, 'But shorter, please.'));
  expect(run.judgments).toEqual(['t 1 by feedback', 't~1 null by votes: But shorter, please.']);
});

test('feedback that agrees with earlier words causes no revision', () => {
  const run = openRun();
  run.on(turnCompleted('t'), voteCast('t', 0, -1, 'No lists, please.'), thumb(-1));
  expect(run.judgments).toEqual(['t -1 by votes: No lists, please.']);
});

test('feedback before the votes gives the verdict; the votes still bring the hint', () => {
  const run = openRun();
  run.on(turnCompleted('t'), thumb(-1));
  expect(run.owed()).toEqual(['t/vote/0']);
  run.on(voteCast('t', 0, -1, 'No lists, please.'));
  expect(run.judgments).toEqual(['t -1 by feedback', 't~1 null by votes: No lists, please.']);
});

test('beside feedback, a judge with hint votes is asked only for hints', () => {
  const run = openRun({ ...rules, votes: 3, hintVotes: 1 });
  run.on(silent('t'), thumb(-1), continued('t'));
  expect(run.owed()).toEqual(['t/hint/0']);
  run.on(hintCast('t', 0, 'Answer without lists.'));
  expect(run.judgments.at(-1)).toBe('t~1 null by votes: Answer without lists.');
});

test('contrary feedback outranks votes; negative feedback keeps the hints', () => {
  const praised = openRun();
  praised.on(turnCompleted('t'), voteCast('t', 0, 1), thumb(-1));
  expect(praised.judgments).toEqual(['t 1 by votes', 't~1 -1 by feedback']);
  const misheard = openRun();
  misheard.on(turnCompleted('t'), voteCast('t', 0, -1, 'Who needs lists?'), thumb(1));
  expect(misheard.judgments).toEqual(['t -1 by votes: Who needs lists?', 't~1 1 by feedback']);
  const unheard = openRun();
  unheard.on(turnCompleted('t'), voteExpired('t'), thumb(-1));
  expect(unheard.judgments).toEqual(['t null by unavailable', 't~1 -1 by feedback']);
});

test('the last feedback counts, copies do not, and revisions are bounded', () => {
  const run = openRun();
  run.on(silent('t'), thumb(1, 'f1'), thumb(-1, 'f2'), thumb(1, 'f1'), thumb(-1, 'f2'), thumb(-1, 'f3'));
  expect(run.judgments).toEqual(['t 1 by feedback', 't~1 -1 by feedback']);
  for (let i = 0; i < 20; i++) run.on(thumb(i % 2 === 0 ? 1 : -1, `g${i}`));
  expect(run.judgments).toHaveLength(1 + MOST_REVISIONS);
});

test('nothing revises a withdrawn turn', () => {
  const run = openRun();
  run.on(turnCompleted('t'), voteCast('t', 0, 1), turnWithdrawn('t'), thumb(-1), continued('t'));
  expect(run.judgments).toEqual(['t 1 by votes']);
  expect(run.owed()).toEqual([]);
});

test('a rejected answer is weakly bad; words about it outrank that', () => {
  const run = openRun();
  run.on(turnCompleted('t', { next: [] }, { from: null, implies: 'regenerated' }));
  expect(run.judgments).toEqual(['t -0.25 by implicit']);
  run.on(continued('t'), voteCast('t', 0, 1));
  expect(run.judgments.at(-1)).toBe('t~1 1 by votes');
  const rated = openRun();
  rated.on(turnCompleted('t', { next: [] }, { from: null, implies: 'edited' }), thumb(-1));
  expect(rated.judgments).toEqual(['t -0.25 by implicit', 't~1 -1 by feedback']);
});

test('without `revises` later evidence changes nothing', () => {
  const run = openRun({ votes: 1 });
  run.on(turnCompleted('t'), voteCast('t', 0, 1), thumb(-1));
  expect(run.judgments).toEqual(['t 1 by votes']);
});

test('any history has one judgment, numbered revisions, and the last feedback wins', () => {
  const facts = [
    silent('t'),
    continued('t'),
    thumb(1, 'f1'),
    thumb(-1, 'f2'),
    thumb(1, 'f3'),
    voteCast('t', 0, -1, 'No lists, please.'),
    voteExpired('t'),
  ];
  fc.assert(
    fc.property(fc.array(fc.nat({ max: facts.length - 1 }), { maxLength: 25 }), (order) => {
      const run = openRun();
      run.on(...order.map((index) => facts[index]!));
      const firsts = run.judgments.filter((one) => one.startsWith('t '));
      const numbers = run.judgments.flatMap((one) => /^t~(\d+)/.exec(one)?.[1] ?? []);
      expect(firsts.length).toBeLessThanOrEqual(1);
      expect(numbers).toEqual(numbers.map((_, index) => String(index + 1)));
      const first = order.indexOf(0);
      const thumbs = [
        ...new Set(order.slice(first === -1 ? order.length : first).filter((i) => i >= 2 && i <= 4)),
      ];
      const stands = run.judgments.flatMap((one) => /^t(?:~\d+)? (-?1) /.exec(one)?.[1] ?? []).at(-1);
      if (thumbs.length > 0 && numbers.length < MOST_REVISIONS)
        expect(stands).toBe(thumbs.at(-1) === 3 ? '-1' : '1');
    }),
    { seed: 7, numRuns: 300 },
  );
});
