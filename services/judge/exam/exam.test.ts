import { expect, test } from 'vitest';
import { JudgeError } from '../errors.ts';
import type { Judge } from '../judges/judge.ts';
import { turnCompleted } from '../testing/events.ts';
import { describeResult, isDecided, readExchanges, resultOf } from './exam.ts';
import { examinedJudge } from './examined-judge.ts';
import { openSitting } from './sitting.ts';

const exchanges = readExchanges();
const signal = new AbortController().signal;
const cost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };
const judgeOf = (name: string, vote: (next: string) => -1 | 0 | 1 | null): Judge => ({
  name,
  defaultVotes: 3,
  defaultHintVotes: 1,
  vote: async ({ next }) => ({ vote: vote(String(next[0]!.content)), text: name, cost }),
});
const settings = { concurrency: 4, timeLimitMs: 60_000, asksServer: true };
const examine = (judge: Pick<Judge, 'vote'>) => openSitting(judge, exchanges, settings).sit(signal);
const verdicts = new Map(exchanges.map(({ next, verdict }) => [next, verdict]));
const perfect = judgeOf('perfect', (next) => verdicts.get(next) ?? -1);

test('there are forty exchanges, fewer than half with the same verdict', () => {
  expect(exchanges).toHaveLength(40);
  expect(verdicts.size).toBe(40);
  for (const verdict of [-1, 0, 1])
    expect(exchanges.filter((one) => one.verdict === verdict).length).toBeLessThan(20);
});

test('a constant or silent judge fails; a judge with the right verdicts passes', async () => {
  for (const same of [-1, 0, 1, null] as const)
    expect((await examine(judgeOf('same', () => same))).passed).toBe(false);
  const result = await examine(perfect);
  expect(result).toMatchObject({ right: 40, of: 40, praised: 0, passed: true });
  expect(describeResult(result)).toMatch(/^40 of 40 right, 0 of \d+ complaints/);
});

test('a judge that praises complaints fails, even if the rest is right', () => {
  const votes = exchanges.map(({ verdict }, index) => (verdict === -1 && index % 2 === 0 ? 1 : verdict));
  expect(resultOf(exchanges, votes).passed).toBe(false);
});

const { data } = turnCompleted('t');
const openExamined = (judge: Judge, standIn?: Judge) => {
  const reports: string[] = [];
  const examined = examinedJudge({
    judge,
    standIn,
    advice: { failed: 'another one', tooSlow: 'time', unfinished: 'look' },
    sitting: openSitting(judge, exchanges, settings),
    retries: { backoffMs: 1, maxBackoffMs: 1, jitter: 0 },
    report: ({ text }) => reports.push(text),
  });
  return { examined, reports };
};

test('the stand-in casts one vote per turn until the judge has passed its exam', async () => {
  const { examined, reports } = openExamined(
    perfect,
    judgeOf('stand-in', () => 1),
  );
  expect(await examined.vote(data, 0, signal)).toMatchObject({ vote: 1, text: 'stand-in' });
  expect(await examined.vote(data, 1, signal)).toMatchObject({ vote: null });
  await examined.examine(signal);
  expect(reports).toEqual([expect.stringContaining('its verdicts count')]);
  expect(await examined.vote(data, 1, signal)).toMatchObject({ vote: -1, text: 'perfect' });
});

test('the verdicts of a failed judge do not count, and the report gives advice', async () => {
  const { examined, reports } = openExamined(judgeOf('yes', () => 1));
  await examined.examine(signal);
  expect(reports).toEqual([expect.stringContaining('no verdicts count; another one')]);
  expect(await examined.vote(data, 0, signal)).toMatchObject({ vote: null });
  const other = openExamined(
    judgeOf('yes', () => 1),
    judgeOf('stand-in', () => 0),
  );
  await other.examined.examine(signal);
  expect(await other.examined.vote(data, 0, signal)).toMatchObject({ vote: 0, text: 'stand-in' });
});

test('a failed judge is closed; a judge that passed is not', async () => {
  const closed: string[] = [];
  const closing = (judge: Judge): Judge => ({ ...judge, close: async () => void closed.push(judge.name) });
  await openExamined(closing(judgeOf('yes', () => 1))).examined.examine(signal);
  await openExamined(closing(perfect)).examined.examine(signal);
  expect(closed).toEqual(['yes']);
});

test('an unreachable server is asked again', async () => {
  let tries = 0;
  const { examined, reports } = openExamined({
    ...perfect,
    vote: (...args) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error('away')) : perfect.vote(...args);
    },
  });
  await examined.examine(signal);
  expect(reports.map((text) => text.includes('has not finished (away)'))).toEqual([true, false]);
});

test('the report on a slow judge does not say that it guesses', async () => {
  const deaf: Judge = { ...perfect, vote: () => new Promise(() => {}) };
  const quick = { concurrency: 40, timeLimitMs: 10, asksServer: false };
  const examined = examinedJudge({
    judge: deaf,
    standIn: undefined,
    advice: { failed: '', tooSlow: 'time', unfinished: '' },
    sitting: openSitting(deaf, exchanges, quick),
    report: () => {},
    retries: { backoffMs: 1, maxBackoffMs: 1, jitter: 0 },
  });
  await examined.examine(signal);
  const noVerdict = { vote: null, text: 'the judge is without a passed exam' };
  expect(await examined.vote(data, 0, signal)).toMatchObject(noVerdict);
});

test('a judge that rejects the exchanges as too long fails', async () => {
  const refuses = judgeOf('small', () => null);
  const vote = () => Promise.reject(JudgeError.JUDGE_REFUSED({ httpStatus: 400 }));
  expect(await examine({ ...refuses, vote })).toMatchObject({
    right: 0,
    passed: false,
  });
  const breaks = () => Promise.reject(JudgeError.MODEL_FAILED({ reason: 'Error' }));
  expect(await examine({ ...refuses, vote: breaks })).toMatchObject({ passed: false });
  const busy = () => Promise.reject(JudgeError.JUDGE_REFUSED({ httpStatus: 503 }));
  await expect(examine({ ...refuses, vote: busy })).rejects.toThrow('503');
});

test('unanswered exchanges count as wrong; if they decide, the judge is too slow', () => {
  const first = (count: number, other: 'late' | null | undefined) =>
    exchanges.map(({ verdict }, index) => (index < count ? verdict : other));
  expect(resultOf(exchanges, first(30, 'late'))).toMatchObject({ passed: true, unanswered: 10 });
  expect(resultOf(exchanges, first(20, 'late'))).toMatchObject({ right: 20, passed: false, tooSlow: true });
  expect(resultOf(exchanges, first(20, null))).toMatchObject({
    unanswered: 0,
    passed: false,
    tooSlow: false,
  });
  const praising = exchanges.map(({ verdict }) => (verdict === -1 ? 1 : 'late'));
  expect(resultOf(exchanges, praising)).toMatchObject({ passed: false, tooSlow: false });
  expect(describeResult(resultOf(exchanges, first(30, 'late')))).toMatch(/praise, 10 not answered$/);
});

test('an exam is decided when no further answer can change its result', () => {
  const votesOf = (count: number, vote: (verdict: -1 | 0 | 1) => -1 | 0 | 1 | 'late' | null) =>
    exchanges.slice(0, count).map(({ verdict }) => vote(verdict));
  const isDecidedAfter = (count: number, vote: Parameters<typeof votesOf>[1]) =>
    isDecided(exchanges, votesOf(count, vote));
  // 26 of 40 have to be right: the fifteenth wrong one decides
  expect(isDecidedAfter(14, () => 'late')).toBe(false);
  expect(isDecidedAfter(15, () => 'late')).toBe(true);
  expect(isDecidedAfter(40, (verdict) => verdict)).toBe(true);
  // the complaints that are left might all be praised
  const open = exchanges.flatMap(({ verdict }, index) => (verdict === -1 ? [index] : []));
  const butComplaints = exchanges.map(({ verdict }, index) => (open.includes(index) ? undefined : verdict));
  expect(isDecided(exchanges, butComplaints)).toBe(false);
});
