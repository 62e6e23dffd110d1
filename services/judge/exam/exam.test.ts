import { expect, test } from 'vitest';
import { JudgeError } from '../errors.ts';
import type { Judge } from '../judges/judge.ts';
import { turnCompleted } from '../test-events.ts';
import { describeResult, examine, readExchanges, resultOf } from './exam.ts';
import { examinedJudge } from './examined-judge.ts';

const exchanges = readExchanges();
const signal = new AbortController().signal;
const cost = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };
const judgeOf = (name: string, vote: (next: string) => -1 | 0 | 1 | null): Judge => ({
  name,
  defaultVotes: 3,
  defaultHintVotes: 1,
  vote: async ({ next }) => ({ vote: vote(String(next[0]!.content)), text: name, cost }),
});
const verdicts = new Map(exchanges.map(({ next, verdict }) => [next, verdict]));
const perfect = judgeOf('perfect', (next) => verdicts.get(next) ?? -1);

test('forty exchanges, less than half of them of one verdict', () => {
  expect(exchanges).toHaveLength(40);
  expect(verdicts.size).toBe(40);
  for (const verdict of [-1, 0, 1])
    expect(exchanges.filter((one) => one.verdict === verdict).length).toBeLessThan(20);
});

test('a judge that always says the same, or nothing, does not pass; one that knows does', async () => {
  for (const same of [-1, 0, 1, null] as const)
    expect(
      (
        await examine(
          judgeOf('same', () => same),
          exchanges,
          4,
          signal,
        )
      ).passed,
    ).toBe(false);
  const result = await examine(perfect, exchanges, 4, signal);
  expect(result).toMatchObject({ right: 40, of: 40, praised: 0, passed: true });
  expect(describeResult(result)).toMatch(/^40 of 40 right, 0 of \d+ complaints/);
});

test('who praises complaints does not pass, however often the rest is right', () => {
  const votes = exchanges.map(({ verdict }, index) => (verdict === -1 && index % 2 === 0 ? 1 : verdict));
  expect(resultOf(exchanges, votes).passed).toBe(false);
});

const { data } = turnCompleted('t');
const openExamined = (judge: Judge, standIn?: Judge) => {
  const told: string[] = [];
  const examined = examinedJudge({
    ...{ judge, standIn, modelFlag: '--judge-model', retryMs: 1 },
    exam: (until) => examine(judge, exchanges, 4, until),
    tell: ({ text }) => told.push(text),
  });
  return { examined, told };
};

test('verdicts count once the exam is passed; until then the stand-in casts one of the votes', async () => {
  const { examined, told } = openExamined(
    perfect,
    judgeOf('stand-in', () => 1),
  );
  expect(await examined.vote(data, 0, signal)).toMatchObject({ vote: 1, text: 'stand-in' });
  expect(await examined.vote(data, 1, signal)).toMatchObject({ vote: null });
  await examined.examine(signal);
  expect(told).toEqual([expect.stringContaining('its verdicts count')]);
  expect(await examined.vote(data, 1, signal)).toMatchObject({ vote: -1, text: 'perfect' });
});

test('who fails is not heard, and what to do is said', async () => {
  const { examined, told } = openExamined(judgeOf('yes', () => 1));
  await examined.examine(signal);
  expect(told).toEqual([
    expect.stringContaining('no verdict counts; name a larger model with --judge-model'),
  ]);
  expect(await examined.vote(data, 0, signal)).toMatchObject({ vote: null });
  const other = openExamined(
    judgeOf('yes', () => 1),
    judgeOf('stand-in', () => 0),
  );
  await other.examined.examine(signal);
  expect(await other.examined.vote(data, 0, signal)).toMatchObject({ vote: 0, text: 'stand-in' });
});

test('who fails is closed, since it is not asked again; who passes is not', async () => {
  const closed: string[] = [];
  const closing = (judge: Judge): Judge => ({ ...judge, close: async () => void closed.push(judge.name) });
  await openExamined(closing(judgeOf('yes', () => 1))).examined.examine(signal);
  await openExamined(closing(perfect)).examined.examine(signal);
  expect(closed).toEqual(['yes']);
});

test('a server that is away is asked again', async () => {
  let tries = 0;
  const { examined, told } = openExamined({
    ...perfect,
    vote: (...args) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new Error('away')) : perfect.vote(...args);
    },
  });
  await examined.examine(signal);
  expect(told.map((text) => text.includes('not answer yet'))).toEqual([true, false]);
});

test('a judge that finds the exchanges too long has failed, not been away', async () => {
  const refuses = judgeOf('small', () => null);
  const vote = () => Promise.reject(JudgeError.JUDGE_REFUSED({ httpStatus: 400 }));
  expect(await examine({ ...refuses, vote }, exchanges, 4, signal)).toMatchObject({
    right: 0,
    passed: false,
  });
  const breaks = () => Promise.reject(JudgeError.MODEL_FAILED({ reason: 'Error' }));
  expect(await examine({ ...refuses, vote: breaks }, exchanges, 4, signal)).toMatchObject({ passed: false });
  const busy = () => Promise.reject(JudgeError.JUDGE_REFUSED({ httpStatus: 503 }));
  await expect(examine({ ...refuses, vote: busy }, exchanges, 4, signal)).rejects.toThrow('503');
});
