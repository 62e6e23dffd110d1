import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test, vi } from 'vitest';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { JudgmentReached } from '../../../shared/events/judgment-reached.ts';
import type { SampleReady } from '../../../shared/events/sample-ready.ts';
import { mean } from '../../../shared/lang/numbers.ts';
import { type ClawLoop, clawloop, startClawLoop, until } from '../harness/clawloop.ts';
import { type Answer, says, startJudgeServer } from '../judge-server.ts';
import { scriptedPolicy } from '../openenv/scripted-policy.ts';

/** The judge votes on steps while attempts continue; the advantage of every sample equals the closed form. */

vi.setConfig({ testTimeout: 480_000 });

const module = fileURLToPath(new URL('stepping-agent.ts', import.meta.url));
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

/** `votes=`: the judge's votes on the previous step; x: no verdict. */
const attempts = [
  { shows: ['votes=1,1,1 a door', 'votes=1,-1,1 a key'], reward: 1 },
  { shows: ['votes=1,1,1 a door', 'votes=-1,-1,-1 a wall', 'votes=0,x,-1 the wall again'], reward: -1 },
  { shows: ['votes=-1,1,0 a lamp'], reward: 0.5 },
];
const outcomes = attempts.map(({ reward }) => reward);
/** of each turn; the last one has no next state and so no score, which counts as 0 */
const scores = [
  [1, 1 / 3, 0],
  [1, -1, -0.5, 0],
  [0, 0],
];

async function startOn(answer: Answer, ...flags: readonly string[]) {
  const judge = await startJudgeServer(answer);
  cleanups.push(judge.close);
  const policy = await scriptedPolicy(({ step }) => `I take step ${step}.`);
  cleanups.push(policy.close);
  const folder = await mkdtemp(join(tmpdir(), 'clawloop-process-'));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const upstream = ['--serving-engine', 'upstream', '--serving-upstream-url', policy.url];
  const exact = ['--serving-upstream-token-ids', '--serving-upstream-logprobs', 'raw'];
  const judged = ['--judge-kind', 'openai', '--judge-exam', 'false'];
  const loop = await startClawLoop(folder, [
    ...upstream,
    ...exact,
    ...judged,
    '--judge-openai-base-url',
    judge.baseUrl,
    '--judge-retry-after-ms',
    '500',
    '--judge-vote-backoff-ms',
    '50',
    '--collector-batch-size',
    '1000',
    ...flags,
  ]);
  cleanups.push(loop.stop);
  const run = (...argv: readonly string[]) => clawloop([...argv, '--data-folder', folder]);
  return { folder, loop, run, judge };
}

type On = Awaited<ReturnType<typeof startOn>>;
type Line = { readonly session: string; readonly attempt: number; readonly steps: readonly object[] };

/** @returns the sessions, in the order of the attempts, and the output of the command */
async function roll({ folder, loop, run }: On, ...flags: readonly string[]) {
  const [data, out] = [join(folder, 'tasks.jsonl'), join(folder, `results-${flags.length}.jsonl`)];
  await writeFile(data, JSON.stringify({ id: 'maze', attempts }));
  const files = ['--agent', module, '--reward', module, '--data', data, '--out', out];
  const { code, stdout, stderr } = await run('rollout', ...files, '--n', '3', '--url', loop.url, ...flags);
  expect(code, stderr + stdout).toBe(0);
  const lines = (await readFile(out, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
    .sort((a, b) => a.attempt - b.attempt);
  return { sessions: lines.map(({ session }) => session), printed: stdout };
}

async function eventsOf<Type extends ClawLoopEvent>({ run }: On, topic: string, type: Type['type']) {
  const { stdout } = await run('topics', 'tail', topic, '--type', type, '--json');
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { readonly event: Type }).event.data as Type['data']);
}

/** All nine samples, by attempt, in the order of the turns. */
const samplesOf = (on: On, sessions: readonly string[]) =>
  until('all turns are samples', async () => {
    const ready = await eventsOf<SampleReady>(on, 'training', 'sample.ready');
    const samples = sessions.map((session) => ready.filter((one) => one.session === session));
    return samples.flat().length === 9 && samples;
  });

const judgmentsOf = async (on: On) => {
  const judgments = await eventsOf<JudgmentReached>(on, 'turns', 'judgment.reached');
  expect(new Set(judgments.map(({ turnId }) => turnId)).size).toBe(judgments.length);
  return new Map(judgments.map((judgment) => [judgment.turnId, judgment]));
};

/** Votes as the observation after the step demands; the same question gets the same answer. */
function byObservation(onAsked: (count: number) => Promise<void> = async () => {}): Answer {
  const seedsOf = new Map<string, number[]>();
  let count = 0;
  return async (response, { body }) => {
    count += 1;
    await onAsked(count);
    const prompt = body.messages[1]!.content;
    const next = prompt.slice(prompt.lastIndexOf(' begin next,'));
    const [shown, votes] = /votes=(\S+) [^\n]*/.exec(next)!;
    const seeds = seedsOf.get(shown) ?? [];
    seedsOf.set(shown, seeds);
    if (!seeds.includes(body.seed)) seeds.push(body.seed);
    const vote = votes!.split(',')[seeds.indexOf(body.seed) % 3]!;
    await says(vote === 'x' ? 'I cannot tell.' : `\\boxed{${vote}}`)(response, { body } as never);
  };
}

const processPart = (weight: number) => {
  const baseline = mean(scores.map(mean));
  return scores.map((of) => of.map((score) => weight * (score - baseline)));
};
/** The start is common to all, and the door to the first two. */
const anchorPart = (weight: number) => {
  const [start, door] = [mean(outcomes), mean(outcomes.slice(0, 2))];
  return outcomes.map((outcome, attempt) =>
    scores[attempt]!.map((_, turn) => {
      if (turn === 0) return weight * (outcome - start);
      return turn === 1 && attempt < 2 ? weight * (outcome - door) : 0;
    }),
  );
};

test('every sample has outcome, process score and anchors, although the judge is killed during the votes', async () => {
  let loop: ClawLoop | undefined;
  const killed: number[] = [];
  const on = await startOn(
    byObservation(async (count) => {
      if (count !== 4) return;
      const { judge } = await loop!.pids();
      process.kill(judge!, 'SIGKILL');
      killed.push(judge!);
    }),
  );
  loop = on.loop;
  const { sessions, printed } = await roll(on, '--process', '0.3', '--anchors', '0.5', '--weigh', 'attempt');
  expect(killed).toHaveLength(1);
  expect(printed).toContain('the judge voted on 6 of 9 steps');
  const samples = await samplesOf(on, sessions);
  const [process_, anchors] = [processPart(0.3), anchorPart(0.5)];
  const judgments = await judgmentsOf(on);
  expect(judgments.size).toBe(9);
  for (const [attempt, of] of samples.entries()) {
    expect(of.map(({ verdict, source, weight }) => ({ verdict, source, weight }))).toEqual(
      of.map(() => ({ verdict: outcomes[attempt], source: 'reward', weight: 1 / of.length })),
    );
    const expected = of.map(
      (_, turn) => outcomes[attempt]! - mean(outcomes) + process_[attempt]![turn]! + anchors[attempt]![turn]!,
    );
    for (const [turn, { advantage, sampleId }] of of.entries()) {
      expect(advantage).toBeCloseTo(expected[turn]!, 12);
      expect(judgments.get(sampleId)).toMatchObject({
        source: 'reward+process',
        process: { mean: expect.closeTo(scores[attempt]![turn]!, 12), weight: 0.3 },
      });
    }
  }

  await checkBuckets(on);
  expect((await on.run('audit')).stdout).toMatch(/balances/);
  expect((await on.run('audit', '--deep')).stdout).toContain('a rebuild gives the same events and rows');
});

/** By step index, samples have the published advantage of their bucket. */
async function checkBuckets(on: On): Promise<void> {
  const { sessions } = await roll(on, '--process', '0.3', '--process-baseline', 'index');
  const samples = await samplesOf(on, sessions);
  const rewards = scores.map((of, attempt) => of.map((score) => outcomes[attempt]! + 0.3 * score));
  for (const [attempt, of] of samples.entries())
    for (const [turn, { advantage, weight }] of of.entries()) {
      const bucket = rewards.flatMap((row) => row.slice(turn, turn + 1));
      const center = mean(bucket);
      const deviation = Math.sqrt(mean(bucket.map((reward) => (reward - center) ** 2)));
      const expected = bucket.length === 1 ? 0 : (rewards[attempt]![turn]! - center) / (deviation + 1e-6);
      expect(advantage).toBeCloseTo(expected, 9);
      expect(weight).toBeUndefined();
    }
}

test('without votes at the deadline only the outcome counts, and the turn shows it', async () => {
  const deadline = ['--judge-step-deadline-ms', '1500', '--judge-sweep-ms', '100'];
  const on = await startOn(() => {}, ...deadline);
  const { sessions, printed } = await roll(on, '--process', '0.3');
  expect(printed).toMatch(/the judge voted on 0 of 9 steps\nvotes on 6 steps are missing/);
  const samples = await samplesOf(on, sessions);
  const judgments = await judgmentsOf(on);
  for (const [attempt, of] of samples.entries())
    for (const [turn, { advantage, sampleId }] of of.entries()) {
      expect(advantage).toBeCloseTo(outcomes[attempt]! - mean(outcomes), 12);
      const isLast = turn === of.length - 1;
      expect(judgments.get(sampleId)).toMatchObject({
        source: isLast ? 'reward+process' : 'reward',
        process: { mean: isLast ? 0 : null, part: 0 },
      });
    }
  expect((await on.run('sessions', 'show', sessions[0]!)).stdout).toContain('votes on the step missing');
  expect((await on.run('audit')).stdout).toMatch(/balances/);
});
