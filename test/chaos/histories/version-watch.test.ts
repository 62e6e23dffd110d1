import { expect, test } from 'vitest';
import type { SubmitSettings } from '../../../services/collector/fold-settings.ts';
import { submit } from '../../../services/collector/submit.ts';
import { sampleReady, verdictRecorded } from '../../../services/collector/testing/events.ts';
import { createVersionWatch, type RunningCanary } from '../../../services/console/model/version-watch.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { PolicyCanaryStarted } from '../../../shared/events/policy-canary-started.ts';
import { PolicyPromoted } from '../../../shared/events/policy-promoted.ts';
import { PolicyRolledBack } from '../../../shared/events/policy-rolled-back.ts';
import { evidenceOfWorse } from '../../../shared/lineage/evidence.ts';
import { headView } from '../../../shared/lineage/head-rows.ts';
import { canaryEvidence, type WatchedVersion } from '../../../shared/lineage/watched-versions.ts';
import { memoryRows, openDraft } from '../../../shared/log/rows.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import { createRandom } from './random.ts';

const written = { source: 'clawloop/test', time: '2026-01-01T00:00:00Z' };
const training = { ...defaultTrainingSettings('claw-nano').settings, canaryShare: 0.2 };
const adapter = 'default';

/** One adapter's `training`: the fold that decides, which reads its own events back, and the console's count. */
function openTraining(given: Partial<SubmitSettings>) {
  const settings: SubmitSettings = { size: 1, maxStaleness: 4, training, ...given };
  const rows = memoryRows();
  const watch = createVersionWatch();
  let offset = 0;
  let made = 0;
  /** what the console showed before each decision, with the decision */
  const decisions: { readonly event: ClawLoopEvent; readonly shown: Shown }[] = [];
  const say = (event: ClawLoopEvent): void => {
    const before = watch.canary();
    watch.on(event, Date.parse(event.time));
    const shown = { watched: watch.watched(), canary: watch.canary() ?? before };
    const { changes, emit } = submit.on(rows, event, { partition: 0, offset: offset++ }, settings);
    rows.apply(changes);
    for (const emitted of emit as readonly ClawLoopEvent[]) {
      if ('figures' in emitted.data) decisions.push({ event: emitted, shown });
      say(emitted);
    }
  };
  const head = () => headView(openDraft(rows));
  return {
    say,
    head,
    decisions,
    watch,
    verdict: (version: number, score: number, more: object = {}) =>
      say(verdictRecorded(`t${++made}`, version, score, more)),
    promote: () => {
      const { head: from } = head();
      say(sampleReady(`s${++made}`, `session ${made}`, from));
      const { open } = head();
      if (open === null) return; // learning is paused
      const { batchId, n } = open;
      const data = { batchId, adapter, from, to: n, checkpoint: `c${n}`, digest: `d${n}` };
      say(PolicyPromoted.create({ ...written, id: `${batchId}/promoted`, data }));
    },
  };
}
type Shown = {
  readonly watched: readonly WatchedVersion[];
  readonly canary: RunningCanary | undefined;
};

test('what the console counts about a version is what the collector decides by', () => {
  const watch = { alpha: 0.5, margin: 0.05, pauseAfter: 1_000 };
  const counted: number[] = [];
  for (let seed = 1; seed <= 40; seed++) {
    const on = openTraining({ watch });
    const random = createRandom(seed);
    for (let step = 0; step < 300; step++) {
      const { head, n, version } = on.head();
      const served = [...Array(n + 1).keys()].filter((number) => version(number) !== undefined);
      const command = { ...written, id: `command-${step}` };
      if (random.chance(0.1)) on.promote();
      else if (random.chance(0.01))
        on.say(PolicyRolledBack.create({ ...command, data: { adapter, from: head, to: random.of(served) } }));
      else {
        // some versions are bad, and some people change their minds
        const isBad = random.chance(head % 4 === 3 ? 0.8 : 0.2);
        const wishes = isBad && random.chance(0.5) ? [random.of(['list', 'no-list'])] : [];
        on.verdict(random.chance(0.9) ? head : random.of(served), isBad ? -1 : 1, {
          wishes,
          key: random.of(['ann', 'bob']),
        });
      }
    }
    for (const { event, shown } of on.decisions) {
      if (event.type !== 'policy.rolled-back') throw new Error(event.type);
      const { from, figures } = event.data;
      const watched = shown.watched.find(({ version }) => version === from)!;
      const { since, before, after } = watched;
      expect(figures).toEqual({
        since,
        turnsBefore: before.turns,
        badBefore: before.bad,
        ...after,
        evidence: Number(evidenceOfWorse({ ...watched, margin: watch.margin }).toPrecision(4)),
        alpha: watch.alpha,
        margin: watch.margin,
      });
      counted.push(before.turns);
    }
  }
  expect(counted.length).toBeGreaterThan(20);
  expect(Math.max(...counted)).toBeGreaterThan(30); // more than one stretch
});

test.each([
  ['worse', 'policy.rejected', 0.8],
  ['as good', 'policy.promoted', 0.2],
] as const)('of a canary that is %s it shows the numbers of the outcome: %s', (_what, type, rateOfBad) => {
  const canary = { alpha: 0.01, margin: 0.3, turns: 200, hours: 24 };
  const on = openTraining({ canary });
  const random = createRandom(1);
  on.say(sampleReady('a'));
  const data = {
    batchId: 'default/batch/1',
    adapter,
    from: 0,
    to: 1,
    checkpoint: 'c',
    digest: 'd',
    share: 0.2,
  };
  on.say(PolicyCanaryStarted.create({ ...written, id: 'default/batch/1/canary', data }));
  for (let n = 0; n < 400 && on.decisions.length === 0; n++) {
    on.verdict(0, random.chance(0.2) ? -1 : 1);
    on.verdict(1, random.chance(rateOfBad) ? -1 : 1);
  }
  expect(on.watch.canary()).toBeUndefined();
  const [{ event, shown } = expect.fail('no outcome')] = on.decisions;
  const { parent, candidate } = shown.canary!;
  const { worse, notWorse } = canaryEvidence(shown.canary!, canary.margin);
  expect(event).toMatchObject({
    type,
    data: {
      figures: {
        turnsOfParent: parent.turns,
        badOfParent: parent.bad,
        ...candidate,
        evidenceOfWorse: Number(worse.toPrecision(4)),
        evidenceOfNotWorse: Number(notWorse.toPrecision(4)),
      },
    },
  });
});
