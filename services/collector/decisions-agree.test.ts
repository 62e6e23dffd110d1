import { expect, test } from 'vitest';
import type { ClawLoopEvent } from '../../shared/events/catalogue.ts';
import { LearningResumed } from '../../shared/events/learning-resumed.ts';
import { PolicyCanaryStarted } from '../../shared/events/policy-canary-started.ts';
import { PolicyPromoted } from '../../shared/events/policy-promoted.ts';
import { PolicyRejected } from '../../shared/events/policy-rejected.ts';
import { PolicyRolledBack } from '../../shared/events/policy-rolled-back.ts';
import { applyHead, type HeadState, initialHead, lineage, viewOf } from '../../shared/lineage/head.ts';
import { headView } from '../../shared/lineage/head-rows.ts';
import { memoryRows, openDraft } from '../../shared/log/rows.ts';
import { createRandom } from '../../shared/policy/model/random.ts';
import { defaultTrainingSettings } from '../../shared/policy/train/training-defaults.ts';
import type { SubmitSettings } from './fold-settings.ts';
import { submit } from './submit.ts';
import { sampleReady, verdictRecorded } from './testing/events.ts';

const settings: SubmitSettings = {
  size: 1,
  maxStaleness: 3,
  training: defaultTrainingSettings('claw-nano').settings,
  // weak on purpose, so that many versions are rolled back
  watch: { alpha: 0.2, margin: 0, pauseAfter: 2 },
  canary: { alpha: 0.2, margin: 0.3, turns: 8, hours: 1e9 },
};
const adapter = 'default';
const written = (id: string) => ({ id, source: 'clawloop/test', time: '2026-01-01T00:00:00Z' });

/** One adapter's topic; trainer, operators, people and the fold write into it, each with an old view or a new one. */
function runHistory(seed: number, steps: number) {
  const random = createRandom(`decisions/${seed}`);
  const under = (count: number) => Math.floor(random() * count);
  const topic: ClawLoopEvent[] = [];
  const rows = memoryRows();
  let read = 0;
  let made = 0;
  const id = (prefix: string) => `${prefix}${++made}`;
  /** The fold may be far behind: an owner of the partition died. */
  const fold = (count: number) => {
    for (const end = Math.min(topic.length, read + count); read < end; read++) {
      const folded = submit.on(rows, topic[read]!, { partition: 0, offset: read }, settings);
      rows.apply(folded.changes);
      topic.push(...(folded.emit as readonly ClawLoopEvent[]));
    }
  };
  const headAt = (end: number): HeadState => topic.slice(0, end).reduce(applyHead, initialHead);
  const views: (() => HeadState)[] = [
    () => headAt(topic.length),
    () => headAt(Math.max(0, topic.length - under(12))),
  ];
  const view = () => views[under(2)]!();
  /** Every third version is a bad one. */
  const isBad = (version: number) => random() < (version % 3 === 2 ? 0.95 : 0.25);
  const acts: (() => void)[] = [
    () => {
      const state = view();
      const path = lineage(viewOf(state), state.head);
      const onCanary = random() < 0.5 ? state.canary?.to : undefined;
      const version = onCanary ?? path[Math.min(under(3), path.length - 1)]!;
      topic.push(verdictRecorded(id('t'), version, isBad(version) ? -1 : 1, { key: `k${under(3)}` }));
    },
    () => void topic.push(sampleReady(id('s'), `session ${under(9)}`, view().head)),
    () => {
      const { open } = view();
      if (open === null) return;
      const data = { batchId: open.batchId, adapter };
      const candidate = { from: open.parent, to: open.n, checkpoint: `c${open.n}`, digest: `d${open.n}` };
      // all attempts at a batch agree
      if (open.n % 5 === 0)
        topic.push(
          PolicyRejected.create({
            ...written(`${open.batchId}/rejected`),
            data: { ...data, reason: 'collapse', detail: '' },
          }),
        );
      else if (open.n % 5 < 3)
        topic.push(
          PolicyPromoted.create({ ...written(`${open.batchId}/promoted`), data: { ...data, ...candidate } }),
        );
      else
        topic.push(
          PolicyCanaryStarted.create({
            ...written(`${open.batchId}/canary`),
            data: { ...data, ...candidate, share: 0.5 },
          }),
        );
    },
    () => {
      if (random() < 0.85) return;
      const { head, versions } = view();
      const known = Object.keys(versions).map(Number);
      topic.push(
        PolicyRolledBack.create({
          ...written(id('o')),
          data: { adapter, from: head, to: known[under(known.length)]! },
        }),
      );
    },
    () => {
      if (random() < 0.2) topic.push(LearningResumed.create({ ...written(id('r')), data: { adapter } }));
    },
    () => {
      const copy = topic[under(topic.length)];
      if (copy !== undefined && random() < 0.3) topic.push(copy);
    },
  ];
  for (let step = 0; step < steps; step++) {
    // half of the acts come from people
    acts[random() < 0.5 ? 0 : under(acts.length)]!();
    if (random() < 0.7) fold(under(6));
  }
  while (read < topic.length) fold(topic.length);
  return { topic, rows };
}

/** The decisions in the topic, read without the code under test. */
function walk(topic: readonly ClawLoopEvent[]): readonly string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  const parents = new Map<number, number | null>([[0, null]]);
  const path = (version: number): readonly number[] => {
    const all: number[] = [];
    for (let at: number | null | undefined = version; at != null; at = parents.get(at)) all.push(at);
    return all;
  };
  const sampled = new Set<string>();
  let banned: number[] = [];
  let [head, open]: [number, string | undefined] = [0, undefined];
  for (const event of topic) {
    if (seen.has(event.id)) continue;
    seen.add(event.id);
    if (event.type === 'batch.submitted') {
      if (open !== undefined) wrong.push(`${event.id} while ${open} is open`);
      open = event.id;
      for (const { sampleId } of event.data.samples) {
        if (sampled.has(sampleId)) wrong.push(`${sampleId} trains twice`);
        sampled.add(sampleId);
      }
      if (banned.some((version) => path(event.data.parent).includes(version)))
        wrong.push(`${event.id} starts from a version that was rolled back`);
    } else if (event.type === 'policy.promoted' || event.type === 'policy.rejected') {
      if (open !== event.data.batchId) continue;
      open = undefined;
      if (event.type === 'policy.rejected' || event.data.from !== head) continue;
      parents.set(event.data.to, event.data.from);
      head = event.data.to;
    } else if (event.type === 'policy.rolled-back') {
      const { from, to, cause } = event.data;
      if (!path(head).includes(from) || !parents.has(to)) continue;
      head = to;
      if (cause === 'automatic') banned.push(from);
      else banned = banned.filter((version) => !path(head).includes(version));
    }
    for (const version of banned)
      if (path(head).includes(version)) wrong.push(`${event.id} brought v${version} back`);
  }
  return wrong;
}

test('readers of the log agree on the head, and no automatic rollback is undone but by an operator', () => {
  const seen = { automatic: 0, paused: 0, afterCanary: 0, failedCanary: 0 };
  for (let seed = 1; seed <= 40; seed++) {
    const { topic, rows } = runHistory(seed, 400);
    const state = topic.reduce(applyHead, initialHead);
    const view = headView(openDraft(rows));
    expect([seed, view.head, view.n, view.open, view.canary ?? null]).toEqual([
      seed,
      state.head,
      state.n,
      state.open,
      state.canary ?? null,
    ]);
    for (const [number, version] of Object.entries(state.versions))
      expect(view.version(Number(number))).toEqual(version);
    expect([seed, ...walk(topic)]).toEqual([seed]);
    const rollbacks = topic.filter(
      (event, index) =>
        event.type === 'policy.rolled-back' &&
        event.data.cause === 'automatic' &&
        topic.findIndex(({ id }) => id === event.id) === index,
    );
    seen.automatic += rollbacks.length;
    seen.paused += topic.filter(({ type }) => type === 'learning.paused').length;
    seen.afterCanary += topic.filter(
      ({ id, source }) => id.endsWith('/promoted') && source === 'clawloop/collector',
    ).length;
    seen.failedCanary += topic.filter(
      ({ id, source }) => id.endsWith('/rejected') && source === 'clawloop/collector',
    ).length;
    expect(new Set(rollbacks.map(({ id }) => id)).size).toBe(rollbacks.length);
  }
  expect(seen.automatic).toBeGreaterThan(30);
  expect(seen.paused).toBeGreaterThan(0);
  expect(seen.afterCanary).toBeGreaterThan(10);
  expect(seen.failedCanary).toBeGreaterThan(10);
});
