import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { TurnContinued } from '../../shared/events/turn-continued.ts';
import { memoryRows, openDraft } from '../../shared/log/rows.ts';
import { inferredHint, noteForms } from './inferred-wish.ts';
import type { FormsRow } from './judge-rows.ts';
import { type PlainForm, unmetBy } from './plain-forms.ts';
import { observationsOn } from './reaction.ts';
import { assistant, tool, turnCompleted, turnFeedback, user, voteCast } from './testing/events.ts';
import { judge } from './testing/run-judge.ts';

const LIST = '- pens\n- paper\n- tape';
const PROSE = 'Take pens, paper and tape.';

test('the characters of an answer show the forms that it lacks', () => {
  expect(unmetBy(LIST)).toContain('no-list');
  expect(unmetBy(LIST)).not.toContain('list');
  expect(unmetBy(PROSE)).toEqual(['list', 'greeting', 'closing']);
  expect(unmetBy('Hello! Take pens. Have a nice day!')).toEqual(
    expect.arrayContaining(['no-greeting', 'no-closing', 'one-sentence', 'list']),
  );
});

const rowAfter = (turns: readonly (readonly [unmet: readonly PlainForm[], isBad: boolean])[]): FormsRow => {
  const rows = memoryRows();
  const forms = openDraft(rows).table<FormsRow>('forms');
  for (const [unmet, isBad] of turns) noteForms(forms, 'key', { unmet, isBad });
  return forms.get('key')!;
};
const times = <Of>(count: number, one: Of): readonly Of[] => Array.from({ length: count }, () => one);

test('the wish is a form that bad answers lack and other answers have', () => {
  const bad = times(6, [['no-list', 'greeting'], true] as const);
  const good = times(6, [['list', 'greeting'], false] as const);
  const row = rowAfter([...bad, ...good]);
  expect(inferredHint(row, ['no-list', 'greeting'])).toBe('No lists, please.');
  expect(inferredHint(row, ['greeting'])).toBeUndefined(); // bad and good answers lack it alike
  expect(inferredHint(row, [])).toBeUndefined();
  expect(inferredHint(undefined, ['no-list'])).toBeUndefined();
});

test('few turns, or complaints about all kinds of answers, give no hint', () => {
  const bad = times(2, [['no-list'], true] as const);
  expect(inferredHint(rowAfter([...bad, ...times(9, [[], false] as const)]), ['no-list'])).toBeUndefined();
  const mixed = [
    ...times(6, [['no-list'], true] as const),
    ...times(6, [[], true] as const),
    ...times(6, [['no-list'], false] as const),
    ...times(6, [[], false] as const),
  ];
  expect(inferredHint(rowAfter(mixed), ['no-list'])).toBeUndefined();
});

test('the log odds ratio over its standard error decides, with 0.5 added per cell', () => {
  // nothing fades in a row that is written by hand
  const row = (bad: number, others: number): FormsRow => ({
    bad: 10,
    others: 10,
    lacking: { 'no-list': { bad, others } },
  });
  const errors = (bad: number, others: number) => {
    const [a, b, c, d] = [bad + 0.5, 10.5 - others, 10.5 - bad, others + 0.5];
    return Math.log((a * b) / (c * d)) / Math.sqrt(1 / a + 1 / b + 1 / c + 1 / d);
  };
  expect(errors(8, 2)).toBeGreaterThan(2.33);
  expect(inferredHint(row(8, 2), ['no-list'])).toBe('No lists, please.');
  expect(errors(7, 2)).toBeLessThan(2.33);
  expect(inferredHint(row(7, 2), ['no-list'])).toBeUndefined();
});

const heard = (turnId: string, vote: -1 | 0 | 1, answer: string, hint?: string): readonly ClawLoopEvent[] => {
  const cast = voteCast(turnId, 0, vote, hint);
  return [
    turnCompleted(turnId),
    { ...cast, data: { ...cast.data, unmet: unmetBy(answer) } } as ClawLoopEvent,
  ];
};
const settings = { votes: 1, revises: true };
const past = Array.from({ length: 6 }, (_, at) => [
  ...heard(`bad ${at}`, -1, LIST, 'That was hard to read aloud.'),
  ...heard(`other ${at}`, 0, PROSE),
]).flat();

test('only a complaint without a hint gets the inferred hint', () => {
  const last = (...events: readonly ClawLoopEvent[]) => judge([...past, ...events], settings).at(-1)!;
  const hint = 'No lists, please.';
  expect(last(...heard('t', -1, LIST))).toMatchObject({ score: -1, hints: [hint], inferred: hint });
  expect(last(...heard('t', -1, PROSE))).toMatchObject({ score: -1, hints: [] });
  const stated = last(...heard('t', -1, LIST, 'A short answer, please.'));
  expect(stated.hints).toEqual(['A short answer, please.']);
  expect(stated).not.toHaveProperty('inferred');
  expect(last(...heard('t', 1, LIST))).toMatchObject({ score: 1, hints: [] });
  expect(last(turnCompleted('t'), turnFeedback('t', -1, 'f'))).toMatchObject({
    source: 'feedback',
    hints: [],
  });
});

test('a stated wish outweighs an inferred contrary wish', () => {
  const wish = heard('wish', -1, PROSE, 'Please use bullet points.');
  const events = [...past, ...wish, ...heard('t', -1, LIST)];
  expect(judge(events, settings).at(-1)).toMatchObject({ score: -1, hints: [] });
});

test('so does a wish in words that follow a thumb', () => {
  const { id, ...shown } = turnCompleted('wish', { next: [user('Please use bullet points.')] });
  const [, vote] = heard('wish', -1, PROSE, 'Please use bullet points.');
  const wish = [
    turnCompleted('wish', { next: [] }, { from: null }),
    turnFeedback('wish', -1, 'f'),
    TurnContinued.create({ ...shown, id: `${id}/continued` }),
    vote!,
  ];
  const complaint = (laterWishesClear: boolean) =>
    judge([...past, ...wish, ...heard('t', -1, LIST)], { ...settings, laterWishesClear }).at(-1);
  expect(complaint(true)).toMatchObject({ turnId: 't', score: -1, hints: [] });
  // as in logs of older versions
  expect(complaint(false)).toMatchObject({ turnId: 't', hints: ['No lists, please.'] });
});

test('later evidence does not repeat an inferred hint', () => {
  const events = [...past, ...heard('t', -1, LIST), turnFeedback('t', -1, 'f', 'Far too much text again.')];
  expect(judge(events, settings).at(-1)).toMatchObject({ n: 1, hints: ['Far too much text again.'] });
});

test('a tool result says nothing about the form of the answer', () => {
  const answer = assistant(PROSE);
  const shown = (next: Parameters<typeof observationsOn>[0]['next']) =>
    observationsOn({ messages: [user('What do I need?')], answer, next });
  expect(shown([user('Hm.')])).toHaveProperty('unmet');
  expect(shown([tool('error: no such file')])).not.toHaveProperty('unmet');
  expect(shown([])).not.toHaveProperty('unmet');
});

test('complaints of one person do not count for another', () => {
  const other = turnCompleted('t', { key: 'another key' });
  const [, vote] = heard('t', -1, LIST);
  expect(judge([...past, other, vote!], settings).at(-1)!.hints).toEqual([]);
});
