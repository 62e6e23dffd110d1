import { createHash } from 'node:crypto';
import type { ClawLoopEvent } from '../../events/catalogue.ts';
import type { Topic } from '../../events/define-event.ts';
import { topicOf } from '../../events/parse-event.ts';
import type { Recorded } from '../../log/event-log.ts';
import { defaultTrainingSettings } from '../../policy/train/training-defaults.ts';

/** A record and its topic. */
export type Placed = { readonly topic: Topic; readonly record: Recorded };

/** Chains of turns with copies: each event comes after its causes, and topics move on at random. */
export function randomChains(seed: number): readonly Placed[] {
  const offsets: Record<string, number> = {};
  return randomEvents(seed).map(({ event, topic }) => {
    const offset = offsets[topic] ?? 0;
    offsets[topic] = offset + 1;
    return { topic, record: { event, at: { partition: 0, offset }, time: 0 } };
  });
}

type Made = { readonly event: ClawLoopEvent; readonly topic: Topic };

function randomEvents(seed: number): readonly Made[] {
  let drawn = 0;
  const below = (most: number): number =>
    createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32LE() % most;
  const make = (type: string, id: string, data: object): Made => {
    const event = { type, id, subject: 'default', time: '2026-01-01T00:00:00.000Z', data };
    return { event: event as unknown as ClawLoopEvent, topic: topicOf(event as unknown as ClawLoopEvent) };
  };
  const score = () => below(3) - 1;
  const made: Made[] = [];
  const steps = new Map<string, number>();
  const words = [{ role: 'user', content: 'No lists, please.' }];
  const answer = { role: 'assistant', content: 'a' };
  for (let n = 0; n < 400; n++) {
    const t = `t-${below(40)}`;
    const step = steps.get(t) ?? 0;
    steps.set(t, step + 1);
    const about = { turnId: t, session: `s-${below(3)}`, settle: 'votes', rule: 'r' };
    const chain: readonly (() => Made)[] = [
      () =>
        make('interaction.completed', t, {
          ...{ interactionId: t, lane: 'l', key: 'k', adapter: 'default', live: true, version: 0 },
          ...{ settle: 'votes', messages: words, answer },
        }),
      () => make('turn.completed', `${t}/completed`, { ...about, next: words, from: `t-${below(9)}` }),
      () => make('vote.cast', `${t}/vote/${below(2)}`, { turnId: t, vote: score() }),
      () =>
        make('judgment.reached', `${t}/judgment`, {
          ...{ turnId: t, score: score(), source: 'votes', hints: ['No lists, please.'] },
          ...(below(2) === 0 ? { inferred: 'Shorter, please.' } : {}),
        }),
      () => make('sample.ready', `${t}/ready`, { sampleId: t }),
      () =>
        make('batch.submitted', `b-${n}`, { ...batch(n), samples: [{ sampleId: t, at, standing: ['x'] }] }),
      () =>
        make('judgment.revised', `${t}/revised`, {
          turnId: t,
          score: score(),
          source: 'feedback',
          hints: [],
        }),
      () => make('sample.dropped', `${t}~1/dropped`, { sampleId: `${t}~1`, reason: 'stale', rule: 'x' }),
      () => make('turn.skipped', `${t}/skipped`, { turnId: t, reason: 'too-late', rule: 'late' }),
    ];
    // an earlier step again is a copy
    made.push(chain[below(4) === 0 ? below(Math.min(step, 8) + 1) : Math.min(step, 8)]!());
    if (below(3) === 0)
      made.push(
        make('policy.promoted', `p-${n}`, { batchId: `b-${below(n + 1)}`, from: 0, to: n, ...weights }),
      );
    if (below(5) === 0)
      made.push(make('batch.returned', `r-${below(30)}`, { batchId: `b-${n}`, samples: [{ sampleId: t }] }));
    if (below(9) === 0) {
      const returned = { sampleId: t, reason: 'already-trained', rule: 'b', returned: `r-${below(30)}` };
      made.push(make('sample.dropped', `${t}/dropped/${n}`, returned));
    }
  }
  return made;
}
const { settings } = defaultTrainingSettings('claw-nano');
const weights = { checkpoint: 'c', digest: 'd' };
const at = { partition: 0, offset: 0 };
const batch = (n: number) => ({
  ...{ batchId: `b-${n}`, adapter: 'default', n, parent: 0, size: 1, maxStaleness: 4, seed: 1 },
  settings,
});
