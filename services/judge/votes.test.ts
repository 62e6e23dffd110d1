import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { parseEvent } from '../../shared/events/parse-event.ts';
import { memoryRows } from '../../shared/log/rows.ts';
import type { Job } from '../../shared/queue/job-queue.ts';
import { openMemoryQueue } from '../../shared/queue/memory/open-memory-queue.ts';
import { judgeFold } from './judge-fold.ts';
import type { Judge } from './judges/judge.ts';
import { signalsJudge } from './judges/signals/signals.ts';
import { openSignalsThread } from './judges/signals/signals-thread.ts';
import { createJudgeMetrics } from './metrics.ts';
import { createOpenVotes } from './open-votes.ts';
import type { VoteJob } from './owed-votes.ts';
import { expireVotes } from './sweeper.ts';
import { turnCompleted, turnFeedback, user } from './testing/events.ts';
import { castVote } from './votes.ts';

/** One lane with one open turn, and a log that only remembers. */
function openVoting(judge: Judge = signalsJudge) {
  const records: ClawLoopEvent[] = [turnCompleted('t')];
  const rows = memoryRows();
  const lines: string[] = [];
  let now = 0;
  const open = createOpenVotes(() => now);
  const settings = { attempts: 1, backoffMs: 1, maxBackoffMs: 1, jitter: 0, timeLimitMs: 1000 };
  const registry = new Registry();
  const metrics = createJudgeMetrics(registry, openMemoryQueue<VoteJob>('votes', settings), open);
  const fold = (event: ClawLoopEvent, offset: number) => {
    rows.apply(judgeFold.on(rows, event, { partition: 0, offset }, { votes: 1 }).changes);
    return open.see([{ subject: 'lane-1', partition: 0, rows }]);
  };
  const log = {
    read: async (_topic: string, { offset }: { offset: number }) => records[offset]!,
    append: async (events: readonly ClawLoopEvent[]) => void records.push(...events),
  };
  const [job] = fold(records[0]!, 0);
  return {
    deps: {
      log,
      judge,
      open,
      metrics,
      deadlineMs: 100,
      stepDeadlineMs: 100,
      logger: pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
    },
    job: { ...job!, attempt: 1 },
    records,
    lines,
    fold,
    wait: (ms: number) => {
      now += ms;
    },
    metric: async (name: string) => (await registry.getSingleMetricAsString(name)).split('\n').at(-1),
  };
}
const never = new AbortController().signal;
const zero = { promptTokens: 0, completionTokens: 0, milliseconds: 0 };

test('a vote is a valid event under the id of its job', async () => {
  const { deps, job, records } = openVoting();
  await castVote(deps, job, never);
  const vote = records[1]!;
  expect(vote).toMatchObject({
    id: 't/vote/0',
    type: 'vote.cast',
    subject: 'lane-1',
    data: { turnId: 't', index: 0, vote: 1, judge: 'signals' },
  });
  expect(parseEvent(JSON.stringify(vote)).kind).toBe('event');
});

test('a judge of what people say abstains on a step of a rewarded session; another votes', async () => {
  const voteBy = async (judge: Judge) => {
    const { deps, job, records } = openVoting(judge);
    records[0] = turnCompleted('t', { settle: 'reward' }, { process: { votes: 1, weight: 1 } });
    await castVote(deps, job, never);
    return records[1]!.data;
  };
  const abstained = await voteBy(signalsJudge);
  expect(abstained).toMatchObject({ vote: null, text: 'abstains: nobody spoke' });
  expect(abstained).not.toHaveProperty('reaction');
  const step: Judge['step'] = async () => ({ vote: -1, text: 'no', cost: zero });
  expect(await voteBy({ ...signalsJudge, step })).toMatchObject({ vote: -1, text: 'no' });
});

test('the judge is not asked for a vote that is no longer owed', async () => {
  const { deps, job, records, fold } = openVoting();
  fold(turnFeedback('t', 1, 'f'), 1);
  await castVote(deps, job, never);
  expect(records).toHaveLength(1);
});

test('a vote on a turn that is already settled is recorded and counted as late', async () => {
  const late: Judge = {
    ...signalsJudge,
    vote: async (...args) => {
      fold(turnFeedback('t', 1, 'f'), 1);
      return signalsJudge.vote(...args);
    },
  };
  const { deps, job, records, fold, metric } = openVoting(late);
  await castVote(deps, job, never);
  expect(records).toHaveLength(2);
  expect(await metric('clawloop_judge_late_votes_total')).toBe('clawloop_judge_late_votes_total 1');
});

test('a failed vote throws, appends no event and logs no words of the conversation', async () => {
  const silent: Judge = {
    ...signalsJudge,
    vote: async () => {
      throw new Error('down');
    },
  };
  const { deps, job, records, lines } = openVoting(silent);
  await expect(castVote(deps, job, never)).rejects.toThrow('down');
  expect(records).toHaveLength(1);
  expect(lines).toHaveLength(1);
  expect(lines[0]).not.toMatch(/egg|Perfect/);
});

test('a job whose position has another event is refused', async () => {
  const { deps, job, records } = openVoting();
  records[0] = turnFeedback('t', 1, 'f');
  await expect(castVote(deps, job, never)).rejects.toThrow(/expected turn t at .*, found turn\.feedback/);
});

test('a turn that breaks its judge is set aside after three attempts across restarts', async () => {
  const { deps, job, records, fold } = openVoting(
    openSignalsThread(new URL('./judges/signals/testing/unruly-worker.ts', import.meta.url)),
  );
  records[0] = turnCompleted('t', { next: [user('die')] });
  let owed: readonly Job<VoteJob>[] = [job];
  for (const process of [1, 2, 3]) {
    expect(owed.map(({ id }) => id)).toEqual(['t/vote/0']);
    await expect(castVote(deps, { ...owed[0]!, attempt: 1 }, never)).rejects.toThrow(/code 7/);
    const failure = records[process]!;
    expect(failure).toMatchObject({ type: 'vote.failed', data: { turnId: 't', index: 0, reason: 'broke' } });
    expect(parseEvent(JSON.stringify(failure)).kind).toBe('event');
    owed = fold(failure, process);
  }
  expect(owed).toEqual([]);
  await castVote(deps, job, never); // no longer owed: the judge is not called
  expect(records).toHaveLength(4);
});

test('the sweeper reports overdue turns once, and again if the append failed', async () => {
  const { deps, records, wait } = openVoting();
  wait(99);
  await expireVotes(deps);
  expect(records).toHaveLength(1);
  wait(1);
  const append = async () => {
    throw new Error('the log is away');
  };
  await expect(expireVotes({ ...deps, log: { append } })).rejects.toThrow('away');
  await expireVotes(deps);
  await expireVotes(deps);
  expect(records.slice(1)).toEqual([
    expect.objectContaining({ id: 't/expired', type: 'vote.expired', subject: 'lane-1' }),
  ]);
});

test('a vote that misses its time limit is logged with the reason, and an interrupted vote is no warning', async () => {
  const hanging: Judge = {
    ...signalsJudge,
    vote: (_turn, _index, signal) =>
      new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason);
        else signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const { deps, job, lines } = openVoting(hanging);
  const cast = (reason: Error) => expect(castVote(deps, job, AbortSignal.abort(reason))).rejects.toThrow();
  await cast(new DOMException('Task timed out (queue has 1 running)', 'TimeoutError'));
  await cast(new Error('the worker is ending'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, turnId: 't', reason: 'no answer within the time limit of a vote' },
    { level: 30, turnId: 't', msg: 'vote interrupted; will retry' },
  ]);
  expect(lines.join('')).not.toContain('queue has');
});
