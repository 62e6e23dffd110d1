import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LearningPaused } from '../../shared/events/learning-paused.ts';
import { LearningResumed } from '../../shared/events/learning-resumed.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import { evidenceOfWorse } from '../../shared/lineage/evidence.ts';
import { lineage } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import { type MemoryRows, memoryRows, openDraft } from '../../shared/log/rows.ts';
import { prunable } from '../../shared/policy/checkpoints/prune.ts';
import type { CheckpointSummary } from '../../shared/policy/checkpoints/state.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady, verdictRecorded } from './testing/events.ts';
import { brief } from './testing/run-fold.ts';

const { settings: training } = defaultTrainingSettings('claw-nano');
const watch = { alpha: 0.01, margin: 0, pauseAfter: 3 };
const settings: SubmitSettings = { size: 1, maxStaleness: 4, training, watch };
const adapter = 'default';
const command = (id: string) => ({ id, source: 'clawloop/cli', time: '2026-01-01T00:00:00Z' });

/** The topic `training` of one adapter and the fold that writes into it, which reads its own events back. */
function openTraining(given: Partial<SubmitSettings> = {}) {
  const rows: MemoryRows = memoryRows();
  const topic: ClawLoopEvent[] = [];
  let next = 0;
  let made = 0;
  const readOn = (until = topic.length): void => {
    for (; next < Math.min(until, topic.length); next++) {
      const at = { partition: 0, offset: next };
      const { changes, emit } = submit.on(rows, topic[next]!, at, { ...settings, ...given });
      rows.apply(changes);
      topic.push(...(emit as readonly ClawLoopEvent[]));
      until += emit.length;
    }
  };
  const say = (...events: readonly ClawLoopEvent[]) => {
    topic.push(...events);
    readOn();
  };
  const view = () => headView(openDraft(rows));
  return {
    say,
    view,
    topic,
    /** Appends without reading. */
    write: (...events: readonly ClawLoopEvent[]) => void topic.push(...events),
    readOn,
    /** A step: one sample makes a batch, and its candidate is promoted. */
    promote: (): void => {
      say(sampleReady(`s${++made}`, `session ${made}`, view().head));
      const { open, head, n } = view();
      if (open === null) throw new Error('no batch was formed');
      const data = {
        batchId: open.batchId,
        adapter,
        from: head,
        to: n,
        checkpoint: `c${n}`,
        digest: `d${n}`,
      };
      say(PolicyPromoted.create({ ...command(`${open.batchId}/promoted`), data }));
    },
    verdicts: (version: number, scores: readonly number[], wishes: readonly string[] = []): void => {
      for (const score of scores)
        say(verdictRecorded(`t${++made}`, version, score, { wishes: score < 0 ? wishes : [] }));
    },
    of: <Type extends ClawLoopEvent['type']>(type: Type) =>
      topic.filter((event): event is Extract<ClawLoopEvent, { type: Type }> => event.type === type),
  };
}
type Training = ReturnType<typeof openTraining>;

const good = (count: number) => Array.from({ length: count }, () => 1);
const bad = (count: number) => Array.from({ length: count }, () => -1);
/** Twenty verdicts on the base, a quarter of them bad, and a first version that is as good. */
function healthy(given: Partial<SubmitSettings> = {}): Training {
  const training = openTraining(given);
  for (let i = 0; i < 5; i++) training.verdicts(0, [1, 0, 1, -1]);
  training.promote();
  training.verdicts(1, [1, 0, 1, -1]);
  return training;
}

test('a version whose verdicts are clearly worse is rolled back to its parent, with the numbers', () => {
  const training = healthy();
  training.promote();
  training.verdicts(2, bad(20));
  const [rollback, ...others] = training.of('policy.rolled-back');
  expect(others).toEqual([]);
  expect(rollback).toMatchObject({
    id: `${rollback!.data.turnId}/rolled-back`,
    source: 'clawloop/collector',
    data: { from: 2, to: 1, cause: 'automatic', figures: { since: 0, turnsBefore: 24, badBefore: 6 } },
  });
  const { turns, bad: badTurns, evidence } = rollback!.data.figures!;
  expect([turns, badTurns]).toEqual([turns, turns]);
  expect(turns).toBeLessThan(12);
  const arms = { before: { turns: 24, bad: 6 }, after: { turns, bad: turns }, margin: 0 };
  expect(evidence).toBeCloseTo(evidenceOfWorse(arms), 0);
  expect(rollback!.data.reason).toBe(`since v2, ${turns} of ${turns} verdicts are bad; before, 6 of 24 were`);
  expect(training.view().head).toBe(1);
});

test('learning goes on from the restored version, without the samples of the version that was rolled back', () => {
  const training = healthy();
  training.promote();
  training.verdicts(2, bad(6));
  training.say(LearningPaused.create({ ...command('p'), data: { adapter } }));
  training.say(sampleReady('of v2', 'chat', 2), sampleReady('of v1', 'chat', 1));
  training.verdicts(2, bad(14));
  expect(training.view().head).toBe(1);
  training.say(LearningResumed.create({ ...command('q'), data: { adapter } }));
  expect(training.of('sample.dropped').map(({ data }) => [data.sampleId, data.reason])).toEqual([
    ['of v2', 'off-lineage'],
  ]);
  expect(brief(training.of('batch.submitted').at(-1)!)).toBe('batch 3 on v1: of v1');
  const sampleIds = training
    .of('batch.submitted')
    .flatMap(({ data }) => data.samples.map((one) => one.sampleId));
  expect(new Set(sampleIds).size).toBe(sampleIds.length); // nothing trains twice
});

test('between the decision and its place in the log no batch is formed', () => {
  const training = healthy();
  training.promote();
  while (training.of('policy.rolled-back').length === 0) {
    training.write(verdictRecorded(`x${training.topic.length}`, 2, -1));
    training.readOn(training.topic.length);
    if (training.topic.length > 80) throw new Error('never rolled back');
  }
  // the last reading also read the rollback; the same history, cut before the rollback is read
  const history = training.topic.slice(
    0,
    training.topic.findIndex(({ type }) => type === 'policy.rolled-back'),
  );
  const rows = memoryRows();
  const read = (event: ClawLoopEvent, offset: number) => {
    const { changes, emit } = submit.on(rows, event, { partition: 0, offset }, settings);
    rows.apply(changes);
    return emit.map((one) => ('type' in one ? one.type : 'deferred'));
  };
  history.forEach(read);
  expect(read(sampleReady('late', 'chat', 2), 900)).toEqual([]);
  expect(read(training.of('policy.rolled-back')[0]!, 901)).toEqual(['sample.dropped']);
  expect(read(sampleReady('later', 'chat', 1), 902)).toEqual(['batch.submitted']);
});

test('a bad version under several successors goes with all of them', () => {
  const training = healthy();
  for (const version of [2, 3]) {
    training.promote();
    training.verdicts(version, bad(version === 2 ? 3 : 12));
  }
  expect(training.of('policy.rolled-back').map(({ data }) => [data.from, data.to])).toEqual([[2, 1]]);
  expect(training.view().head).toBe(1);
});

test('a fault that a successor cures is not rolled back', () => {
  const training = healthy();
  training.promote();
  training.verdicts(2, bad(4));
  training.promote();
  training.verdicts(3, good(30));
  expect(training.of('policy.rolled-back')).toEqual([]);
});

test('verdicts that stay as they are roll nothing back', () => {
  const training = openTraining();
  for (let version = 0; version < 30; version++) {
    if (version > 0) training.promote();
    training.verdicts(version, [1, -1, 0, -1]);
  }
  expect(training.view().head).toBe(29);
});

test('complaints that state the opposite of an earlier wish do not count until it was met', () => {
  const changes = (wish: string) => {
    const training = healthy();
    training.verdicts(1, [-1], ['no-list']);
    training.promote();
    training.verdicts(2, bad(20), [wish]);
    return training.of('policy.rolled-back').length;
  };
  expect(changes('list')).toBe(0);
  expect(changes('no-list')).toBe(1);
  expect(changes('shorter')).toBe(1);
  const training = healthy();
  training.verdicts(1, [-1], ['no-list']);
  training.verdicts(1, [-1], ['list']);
  training.verdicts(1, good(3));
  training.promote();
  training.verdicts(2, bad(20), ['list']);
  expect(training.of('policy.rolled-back')).toHaveLength(1);
});

test('a copy of a verdict does not count', () => {
  const training = healthy();
  training.promote();
  const one = verdictRecorded('again', 2, -1);
  for (let i = 0; i < 30; i++) training.say(one);
  expect(training.of('policy.rolled-back')).toEqual([]);
});

test("an operator's choice is not questioned, and neither is it undone", () => {
  const training = healthy();
  training.promote();
  training.verdicts(2, bad(20));
  const forward = PolicyRolledBack.create({ ...command('forward'), data: { adapter, from: 1, to: 2 } });
  training.say(forward);
  training.verdicts(2, bad(30));
  expect(training.view().head).toBe(2);
  // later versions are watched again
  training.verdicts(2, good(40));
  training.promote();
  training.verdicts(3, bad(30));
  expect(training.view().head).toBe(2);
  expect(training.of('policy.rolled-back')).toHaveLength(3);
});

test('a rollback by an operator that comes first is respected', () => {
  const training = healthy();
  training.promote();
  training.promote();
  const manual = PolicyRolledBack.create({ ...command('manual'), data: { adapter, from: 3, to: 0 } });
  while (training.of('policy.rolled-back').length === 0) {
    const { length } = training.topic;
    training.write(verdictRecorded(`x${length}`, 2, -1));
    if (length > 35) training.write(manual);
    training.readOn(length + 1);
    if (length > 80) throw new Error('never rolled back');
  }
  training.readOn();
  expect(training.view().head).toBe(0);
});

test('repeated automatic rollbacks pause learning, and say why; resuming counts again from none', () => {
  const training = healthy();
  const fail = () => {
    training.promote();
    training.verdicts(training.view().head, bad(20));
  };
  fail();
  fail();
  expect(training.of('learning.paused')).toEqual([]);
  fail();
  const [pause] = training.of('learning.paused');
  const last = training.of('policy.rolled-back').at(-1)!;
  expect(pause).toMatchObject({
    id: `${last.id}/paused`,
    data: { rollback: last.id, reason: expect.stringMatching(/^3 automatic rollbacks within 20 batches/) },
  });
  training.say(sampleReady('waits', 'chat', 1));
  expect(training.view().open).toBeNull();
  training.say(LearningResumed.create({ ...command('r'), data: { adapter } }));
  expect(training.view().open?.samples.map(({ sampleId }) => sampleId)).toEqual(['waits']);
  expect(training.of('learning.paused')).toHaveLength(1);
});

test('without the setting verdicts change nothing', () => {
  const off = openTraining({ watch: undefined as never });
  off.verdicts(0, good(20));
  off.promote();
  off.verdicts(1, bad(40));
  expect(off.of('policy.rolled-back')).toEqual([]);
  expect(off.view().head).toBe(1);
});

test('whatever people say, a rollback leads to a checkpoint that is kept, with the smallest --keep', () => {
  let rollbacks = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const training = openTraining({ watch: { alpha: 0.5, margin: 0, pauseAfter: 1000 } });
    const random = createRandom(`kept/${seed}`);
    let kept: readonly CheckpointSummary[] = [];
    let seen = 0;
    for (let step = 0; step < 60; step++) {
      const { head, version } = training.view();
      // learning goes well and badly for a while, then nobody promotes, and one rollback follows the other
      const rests = step % 30 > 18;
      training.verdicts(head, random() < (rests ? 0.1 : 0.7) ? good(1) : bad(rests ? 4 : 1));
      for (const { data } of training.of('policy.rolled-back').slice(seen)) {
        rollbacks += 1;
        seen += 1;
        expect([0, ...kept.map(({ state }) => state.version)], `seed ${seed}`).toContain(data.to);
      }
      if (rests) continue;
      training.promote();
      const view = training.view();
      const summary = { name: `v${view.n}`, state: { version: view.n } } as CheckpointSummary;
      const retention = { keep: 2, lineage: lineage({ version }, view.head), openParent: undefined };
      const gone = prunable([...kept, summary], retention);
      kept = [...kept, summary].filter(({ name }) => !gone.includes(name));
    }
  }
  expect(rollbacks).toBeGreaterThan(30);
});

test('somebody who dislikes everything from now on causes one rollback, not one after the other', () => {
  const training = openTraining();
  for (let step = 0; step < 12; step++) {
    training.verdicts(training.view().head, [1, 1, step % 3 === 0 ? -1 : 1, 1, 1]);
    training.promote();
  }
  for (let i = 0; i < 60; i++) training.verdicts(training.view().head, bad(1));
  expect(training.of('policy.rolled-back')).toHaveLength(1);
});
