import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { loadConfig } from '../../../shared/config/common.ts';
import { JudgeConfig } from '../../../shared/config/judge.ts';
import { readReport } from '../../../shared/runtime/judge-exam.ts';
import { createLogger } from '../../../shared/runtime/logger.ts';
import type { Judge } from '../judges/judge.ts';
import { turnCompleted, user } from '../testing/events.ts';
import { examTimeLimit } from '../tries.ts';
import { readExchanges } from './exam.ts';
import { type ExamProgress, examinedJudge } from './examined-judge.ts';
import { openJudge } from './open-judge.ts';
import { openSitting } from './sitting.ts';
import { type Behaviour, startExamServer, until } from './testing/exam-server.ts';

const closes: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closes.splice(0)) await close();
});

/** The judge of `clawloop judge` with these settings, its log, and its server. */
async function openAt(behaviour: Behaviour, env: Readonly<Record<string, string>> = {}) {
  const server = await startExamServer(behaviour);
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-exam-'));
  closes.push(server.close, () => rm(folder, { recursive: true, force: true }));
  const { values } = loadConfig('judge', JudgeConfig, ['--data-folder', folder], {
    CLAWLOOP_JUDGE_OPENAI_BASE_URL: server.baseUrl,
    CLAWLOOP_JUDGE_VOTE_BACKOFF_MS: '1',
    CLAWLOOP_JUDGE_VOTE_MAX_BACKOFF_MS: '2',
    ...env,
  });
  const lines: { readonly level: number; readonly msg: string }[] = [];
  const logger = createLogger('judge', 'info', { write: (line) => void lines.push(JSON.parse(line)) });
  const stop = new AbortController();
  const judge = openJudge({ ...values, model: 'owner/name' }, logger, stop.signal);
  closes.push(() => judge.close?.());
  const vote = (words: string) =>
    judge.vote(turnCompleted('t', { next: [user(words)] }).data, 0, new AbortController().signal);
  return { server, lines, stop, judge, vote, report: () => readReport(folder) };
}

const WARN = 40;

test('a failing server is reported once with advice; the judge passes when it answers', async () => {
  const { server, lines, stop, judge, vote, report } = await openAt(() => 503);
  const examined = judge.examine!(stop.signal);
  await until(() => lines.length > 0);
  const tries = server.asked.length;
  await until(() => server.asked.length > tries + 20);
  expect(lines.map(({ level }) => level)).toEqual([WARN]);
  expect(lines[0]!.msg).toMatch(
    /the exam of openai has not finished \(.*status 503\): until then ear judges instead/,
  );
  expect(lines[0]!.msg).toContain(server.baseUrl);
  expect(lines[0]!.msg).toContain('--judge-openai-base-url');
  expect(await vote('That is wrong.')).toMatchObject({ vote: -1, text: expect.stringMatching(/^ear/) });
  server.become(() => 'right');
  await examined;
  expect(lines.slice(1)).toEqual([expect.objectContaining({ msg: expect.stringContaining('40 of 40') })]);
  while ((await report()) === undefined); // the report is written in the background
  expect(await report()).toMatchObject({ right: 40, passed: true });
});

test('a hanging server is reported at the first time limit, which is configurable', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const env = { CLAWLOOP_JUDGE_EXAM_TIMEOUT_MS: '7000', CLAWLOOP_JUDGE_CONCURRENCY: '3' };
  const { server, lines, stop, judge } = await openAt(() => 'hang', env);
  const examined = judge.examine!(stop.signal);
  await until(() => server.hanging() === 3);
  await vi.advanceTimersByTimeAsync(6_999);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('no answer from the judge for 7 s')]);
  stop.abort();
  await examined;
  expect(lines).toHaveLength(1);
});

test('the time limit of an exchange is five minutes, or that of a vote if longer', () => {
  const limitOf = (settings: Partial<JudgeConfig>, defaultTimeoutMs?: number) => {
    const own = defaultTimeoutMs === undefined ? {} : { defaultTimeoutMs };
    return examTimeLimit(JudgeConfig.parse(settings), own as Judge);
  };
  expect(limitOf({})).toBe(300_000);
  expect(limitOf({}, 600_000)).toBe(600_000);
  expect(limitOf({ voteTimeoutMs: 900_000 })).toBe(900_000);
  expect(limitOf({ voteTimeoutMs: 1000 }, 600_000)).toBe(300_000);
  expect(limitOf({ examTimeoutMs: 5000 }, 600_000)).toBe(5000);
});

/** An exam at a server, whose pauses pass at once. */
async function examineAt(behaviour: Behaviour, onPause: (pauses: readonly number[]) => void) {
  const server = await startExamServer(behaviour);
  closes.push(server.close);
  const pauses: number[] = [];
  const reports: ExamProgress[] = [];
  const settings = { concurrency: 4, timeLimitMs: 60_000, asksServer: true };
  const examined = examinedJudge({
    judge: server.judge,
    standIn: undefined,
    advice: { failed: '', tooSlow: '', unfinished: '' },
    sitting: openSitting(server.judge, readExchanges(), settings),
    report: (progress) => reports.push(progress),
    retries: { backoffMs: 1000, maxBackoffMs: 60_000, jitter: 0.5 },
    wait: async (ms) => {
      pauses.push(ms);
      onPause(pauses);
    },
  });
  return { server, examined, pauses, reports };
}

test('pauses double up to their limit, minus jitter, and start again after an answer', async () => {
  const { server, examined, pauses, reports } = await examineAt(
    () => 500,
    (all) => {
      if (all.length === 10) server.become((index) => (index < 8 ? 'right' : 500));
      if (all.length === 12) server.become(() => 'right');
    },
  );
  await examined.examine(new AbortController().signal);
  const full = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 1, 2].map((seconds) => seconds * 1000);
  expect(pauses).toHaveLength(full.length);
  for (const [index, most] of full.entries()) {
    expect(pauses[index]).toBeLessThanOrEqual(most);
    expect(pauses[index]).toBeGreaterThanOrEqual(most / 2);
  }
  expect(new Set(pauses.slice(6, 10)).size).toBeGreaterThan(1); // servers do not get all of them at once
  expect(reports.at(-1)).toMatchObject({ kind: 'result', result: { passed: true } });
});

test('shutdown ends an exam between two attempts without another report', async () => {
  const stop = new AbortController();
  const { examined, pauses, reports } = await examineAt(
    () => 500,
    (all) => all.length === 2 && stop.abort(),
  );
  await examined.examine(stop.signal);
  expect(pauses).toHaveLength(2);
  expect(reports.map(({ kind }) => kind)).toEqual(['unfinished', 'unfinished']);
});
