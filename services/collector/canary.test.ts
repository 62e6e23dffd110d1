import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../shared/events/policy-canary-started.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import type { InputEvent } from '../../shared/log/fold.ts';
import { memoryRows, openDraft } from '../../shared/log/rows.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { longCanaries } from './sweep-candidates.ts';
import { createSweeper } from './sweeper.ts';
import { sampleReady, verdictRecorded } from './testing/events.ts';
import { brief } from './testing/run-fold.ts';
import { addVerdictMetrics } from './verdict-metrics.ts';

const settings: SubmitSettings = {
  size: 1,
  maxStaleness: 4,
  training: { ...defaultTrainingSettings('claw-nano').settings, canaryShare: 0.2 },
  watch: { alpha: 0.01, margin: 0, pauseAfter: 3 },
  canary: { alpha: 0.01, margin: 0.3, turns: 40, hours: 24, correctsStart: true },
};
const adapter = 'default';
const written = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });
const HOUR_MS = 3_600_000;

/**
 * The batch of one sample is trained, and its candidate is on canary as v1 beside the base.
 * @param startsAt hours since 1970
 */
function onCanary(given: Partial<SubmitSettings> = {}, startsAt = 0) {
  const rows = memoryRows();
  const emitted: ClawLoopEvent[] = [];
  let [offset, made, hours] = [0, 0, startsAt];
  const say = (...events: readonly ClawLoopEvent[]): void => {
    for (const event of events) {
      const input: InputEvent = { ...event, recorded: hours * HOUR_MS };
      const { changes, emit } = submit.on(
        rows,
        input,
        { partition: 0, offset: offset++ },
        { ...settings, ...given },
      );
      rows.apply(changes);
      emitted.push(...(emit as readonly ClawLoopEvent[]));
      say(...(emit as readonly ClawLoopEvent[]));
    }
  };
  const verdicts = (version: number, scores: readonly number[]) =>
    say(...scores.map((score) => verdictRecorded(`t${++made}`, version, score)));
  const started = PolicyCanaryStarted.create({
    ...written('default/batch/1/canary'),
    data: { batchId: 'default/batch/1', adapter, from: 0, to: 1, checkpoint: 'c1', digest: 'd1', share: 0.2 },
  });
  say(sampleReady('a'), started);
  return {
    say,
    started,
    verdicts,
    wait: (count: number) => {
      hours += count;
    },
    view: () => headView(openDraft(rows)),
    rows,
    hours: () => hours,
    lines: () => emitted.slice(1).map(brief),
    last: () => emitted.at(-1)!,
  };
}
/**
 * A timer of canaries; each call sweeps once, a minute after the call before.
 * @param ahead hours by which its wall clock is ahead
 * @returns the number of events
 */
function sweeperOf(canary: ReturnType<typeof onCanary>, ahead = () => 0): () => Promise<number> {
  let now = 0;
  const sweeper = createSweeper({
    candidates: longCanaries(24),
    spanMs: 60_000,
    staleAfterMs: 1e9,
    append: async (events) => canary.say(...events),
    now: () => now,
    time: () => new Date((canary.hours() + ahead()) * HOUR_MS).toISOString(),
  });
  return () => {
    now += 60_000;
    sweeper.owed([{ subject: adapter, partition: 0, rows: canary.rows }]);
    return sweeper.sweep();
  };
}
const times = (count: number, score: number) => Array.from({ length: count }, () => score);
const mixed = (count: number) => Array.from({ length: count }, (_, i) => (i % 4 === 0 ? -1 : 1));

test('while a candidate is on canary the head stays, no batch is formed, and its samples wait', () => {
  const canary = onCanary();
  canary.say(sampleReady('of v1', 'chat', 1), sampleReady('of v0', 'other', 0), canary.started);
  expect(canary.view()).toMatchObject({ head: 0, canary: { to: 1 }, open: { n: 1 } });
  expect(canary.lines()).toEqual([]);
});

test('a candidate whose verdicts are worse is rejected with the numbers, and its samples are dropped', () => {
  const canary = onCanary();
  canary.say(sampleReady('of v1', 'chat', 1), sampleReady('of v0', 'other', 0));
  canary.verdicts(0, mixed(20));
  canary.verdicts(1, times(30, -1));
  expect(canary.lines()).toEqual([
    'rejected default/batch/1: canary',
    'dropped of v1: off-lineage',
    'batch 2 on v0: of v0',
  ]);
  expect(canary.view()).toMatchObject({ head: 0, canary: null });
});

test('the rejection names counts, evidence and limits', () => {
  const canary = onCanary();
  canary.verdicts(0, mixed(20));
  canary.verdicts(1, times(30, -1));
  expect(canary.last()).toMatchObject({
    id: 'default/batch/1/rejected',
    source: 'clawloop/collector',
    data: { figures: { turnsOfParent: 20, badOfParent: 5, alpha: 0.01, margin: 0.3 } },
  });
  const { figures } = canary.last().data as { figures: Record<string, number> };
  expect(figures.evidenceOfWorse).toBeGreaterThanOrEqual(100);
  expect(figures.bad).toBe(figures.turns);
  expect(figures.turns).toBeLessThan(15);
});

test('a candidate that is surely not worse by the margin is promoted early, and its samples train', () => {
  const canary = onCanary();
  canary.say(sampleReady('of v1', 'chat', 1));
  canary.verdicts(0, mixed(40));
  canary.verdicts(1, times(30, 1));
  expect(canary.lines()).toEqual(['promoted v1', 'batch 2 on v1: of v1']);
  expect(canary.view()).toMatchObject({ head: 1, canary: null });
});

test('a promoted canary goes on to be watched, with the verdicts that it has', () => {
  const canary = onCanary();
  canary.verdicts(0, mixed(40));
  canary.verdicts(1, times(30, 1));
  canary.verdicts(1, times(60, -1));
  expect(canary.lines()).toEqual(['promoted v1', 'rolled back v1 to v0']);
});

test.each([
  ['not higher', mixed(40), 'promoted v1'],
  ['higher', [...times(24, -1), ...times(16, 1)], 'rejected default/batch/1: canary'],
])('after the agreed number of verdicts a rate that is %s by the margin decides', (_, scores, line) => {
  const canary = onCanary({ canary: { ...settings.canary!, alpha: 1e-9 } });
  canary.verdicts(0, mixed(20));
  canary.verdicts(1, scores.slice(0, 39));
  expect(canary.lines()).toEqual([]);
  canary.verdicts(1, scores.slice(39));
  expect(canary.lines()).toEqual([line]);
});

test('after the agreed time the same rule decides with fewer verdicts', () => {
  const canary = onCanary();
  canary.wait(23);
  canary.verdicts(1, [1]);
  expect(canary.lines()).toEqual([]);
  canary.wait(1);
  canary.verdicts(0, [1]);
  expect(canary.lines()).toEqual(['promoted v1']);
  expect(canary.last()).toMatchObject({
    data: { reason: expect.stringMatching(/^undecided after 1 verdicts and 24 hours/) },
  });
});

test('a canary without traffic ends by the timer, at its time and not before', async () => {
  const canary = onCanary();
  let ahead = 0;
  const sweep = sweeperOf(canary, () => ahead);
  expect([await sweep(), await sweep()]).toEqual([0, 0]);
  canary.wait(23);
  expect(await sweep()).toBe(0);
  ahead = 100; // the sweeper's clock jumps: the fold does not believe it
  expect(await sweep()).toBe(1);
  expect(canary.lines()).toEqual([]);
  ahead = 0;
  canary.wait(1);
  expect(await sweep()).toBe(1);
  expect(canary.lines()).toEqual(['promoted v1']);
  expect(canary.last()).toMatchObject({
    data: { reason: expect.stringMatching(/^undecided after 0 verdicts and 24 hours/) },
  });
  expect([await sweep(), await sweep()]).toEqual([0, 0]);
});

test('a canary that a trainer with a clock far ahead started ends at its time by the clock of the others', async () => {
  const canary = onCanary({}, 1_000);
  const sweep = sweeperOf(canary);
  canary.wait(-1_000);
  await sweep();
  expect(await sweep()).toBe(1); // it seems to start in the future: the fold learns the time
  expect(await sweep()).toBe(0);
  canary.wait(24);
  expect(await sweep()).toBe(1);
  expect(canary.lines()).toEqual(['promoted v1']);
  expect(canary.last()).toMatchObject({
    data: { reason: expect.stringMatching(/^undecided after 0 verdicts and 24 hours/) },
  });
});

test('metrics show a running canary: share, verdicts by side, evidence', async () => {
  const canary = onCanary();
  const registry = new Registry();
  const follow = addVerdictMetrics(registry, settings);
  follow([{ subject: adapter, partition: 0, rows: canary.rows }]);
  canary.verdicts(0, mixed(20));
  canary.verdicts(1, [1, ...times(5, -1)]);
  const running = await registry.metrics();
  for (const line of [
    'clawloop_canary_share{adapter="default"} 0.2',
    'clawloop_canary_verdicts{adapter="default",side="parent",verdict="bad"} 5',
    'clawloop_canary_verdicts{adapter="default",side="parent",verdict="good"} 15',
    'clawloop_canary_verdicts{adapter="default",side="candidate",verdict="bad"} 5',
    'clawloop_canary_evidence_log10{adapter="default",claim="not-worse"} 0',
  ])
    expect(running).toContain(line);
  const worse = /evidence_log10\{adapter="default",claim="worse"\} (\S+)/.exec(running)![1];
  canary.verdicts(1, times(30, -1));
  const { evidenceOfWorse } = (canary.last().data as { figures: Record<string, number> }).figures;
  expect(Number(worse)).toBeGreaterThan(0);
  expect(Number(worse)).toBeLessThan(Math.log10(evidenceOfWorse!));
  const after = await registry.metrics();
  expect(after).toContain('clawloop_canary_share{adapter="default"} 0\n');
  expect(after).not.toContain('claim="worse"');
});

test('metrics show the evidence against a watched version, until it is rolled back', async () => {
  const canary = onCanary();
  const registry = new Registry();
  const follow = addVerdictMetrics(registry, settings);
  follow([{ subject: adapter, partition: 0, rows: canary.rows }]);
  canary.verdicts(0, mixed(40));
  canary.verdicts(1, times(30, 1));
  const logs: number[] = [];
  while (canary.view().head === 1) {
    canary.verdicts(1, [-1]);
    logs.push(
      Number(/rollback_evidence_log10\{adapter="default"\} (\S+)/.exec(await registry.metrics())![1]),
    );
  }
  expect(logs.length).toBeGreaterThan(10);
  expect(logs.at(-2)!).toBeGreaterThan(1);
  expect(logs.at(-2)!).toBeLessThan(2);
  expect(logs.at(-1)).toBe(0);
  expect(await registry.metrics()).not.toContain('rollback_verdicts{');
});

test('a canary ends when an operator moves the head away from its parent', () => {
  const canary = onCanary();
  canary.verdicts(0, mixed(40));
  canary.verdicts(1, times(30, 1));
  canary.say(sampleReady('b', 'chat', 1));
  const second = {
    batchId: 'default/batch/2',
    adapter,
    from: 1,
    to: 2,
    checkpoint: 'c2',
    digest: 'd2',
    share: 0.2,
  };
  canary.say(PolicyCanaryStarted.create({ ...written('default/batch/2/canary'), data: second }));
  canary.say(PolicyRolledBack.create({ ...written('o'), data: { adapter, from: 1, to: 0 } }));
  expect(canary.lines().slice(1)).toEqual(['batch 2 on v1: b', 'rejected default/batch/2: canary']);
  expect(canary.last()).toMatchObject({ data: { detail: 'its parent v1 was rolled back' } });
});

test('a canary is decided also where verdicts roll nothing back', () => {
  const canary = onCanary({ watch: undefined as never });
  canary.verdicts(0, mixed(20));
  canary.verdicts(1, times(30, -1));
  expect(canary.lines()).toEqual(['rejected default/batch/1: canary']);
});
