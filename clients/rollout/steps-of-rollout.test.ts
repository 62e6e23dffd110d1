import { expect, test } from 'vitest';
import type { SessionStep } from '../api-client.ts';
import { resultLine } from './result-line.ts';
import { formatSummary } from './summary.ts';
import { createProtocolDouble, type KnownSession } from './testing/protocol-server.ts';
import { roll } from './testing/roll.ts';

const steps = {
  process: 0.3,
  processBaseline: 'attempt',
  anchors: 0,
  votesTimeoutMs: 60_000,
} as const;

/** One step per session, with the score that its reward names. */
const scoredStep = ({ rewards }: KnownSession, votes: SessionStep['votes'] = 'complete'): SessionStep => ({
  interaction: 'i',
  continues: null,
  observed: [],
  reward: rewards.at(-1)!.reward,
  votes,
  score: votes === 'complete' ? rewards.at(-1)!.reward : null,
});
const waits = { count: 0, ms: 0 };

test('when all attempts are done and voted on, each step gets what its votes are compared with', async () => {
  const double = createProtocolDouble({
    stepsOf: (session, asked) => [scoredStep(session, asked < 3 ? 'pending' : 'complete')],
  });
  const { opened, settled, summary } = await roll({ tasks: 1, steps, double });
  expect(opened.map(({ asked }) => asked)).toEqual([3, 3, 3, 3]);
  for (const { rewards } of opened) {
    const { reward, advantage, steps: sent } = rewards.at(-1)!;
    expect(advantage).toBeCloseTo(reward - 0.15, 12);
    expect(sent).toEqual([{ interaction: 'i', process: { baseline: expect.closeTo(0.15), scale: 1 } }]);
  }
  expect(JSON.parse(resultLine(settled[0]!)).steps).toEqual([
    { interaction: 'i', votes: 'complete', score: 0 },
  ]);
  expect(formatSummary(summary, waits, true)).toContain('the judge voted on 4 of 4 steps');
});

test('votes that do not come in time leave the outcome alone', async () => {
  const double = createProtocolDouble({ stepsOf: (session) => [scoredStep(session, 'pending')] });
  const { opened, summary } = await roll({ tasks: 1, double, steps: { ...steps, votesTimeoutMs: 0 } });
  for (const { rewards } of opened) {
    const { reward, advantage, steps: sent } = rewards.at(-1)!;
    expect(advantage).toBeCloseTo(reward - 0.15, 12);
    expect(sent).toEqual([{ interaction: 'i' }]);
  }
  expect(formatSummary(summary, waits, true)).toMatch(/votes on 4 steps are missing.*\n.*no vote counts/);
});

test('the steps of a lone attempt are not compared, so its votes do not count', async () => {
  const double = createProtocolDouble({ stepsOf: (session) => [scoredStep(session)] });
  const { opened } = await roll({ tasks: 1, n: 1, steps, double });
  expect(opened[0]!.rewards.at(-1)).toEqual({ reward: 0, interaction: 'chatcmpl-sk-sess-0', steps: [] });
  expect(opened[0]!.asked).toBe(0);
});

test('without a comparison of steps no votes are requested and nothing else is sent', async () => {
  const { opened, summary } = await roll({ tasks: 1 });
  expect(opened.map(({ asked, rewards }) => [asked, rewards.at(-1)!.steps])).toEqual(
    Array(4).fill([0, undefined]),
  );
  expect(formatSummary(summary, waits)).not.toContain('vote');
});
