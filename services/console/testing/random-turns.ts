import { createHash } from 'node:crypto';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import type { Topic } from '../../../shared/events/define-event.ts';
import { topicOf } from '../../../shared/events/parse-event.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';
import type { Placed } from '../../../shared/views/testing/random-chains.ts';

/** Partitions of each topic. */
export const PARTITIONS = 2;

const { settings } = defaultTrainingSettings('claw-nano');
const hints = ['No lists, please.', 'Shorter, please.', 'In German, please.', 'Speak louder.'];
const reasons = ['side', 'secret', 'no-next-state'];
const first = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
/** ms between two turns */
const paces = [HOUR / 5, 7 * HOUR, 50 * HOUR];

/** Draws numbers below `most`. */
export function createDraw(seed: string): (most: number) => number {
  let drawn = 0;
  return (most) => createHash('sha256').update(`${seed}/${drawn++}`).digest().readUInt32LE() % most;
}

/**
 * Records of turns of several people, adapters and versions, some with rewards, in an order in which each comes after
 * its causes. Sessions follow each other; their turns have times in any order.
 */
export function randomTurns(seed: number, count = 120): readonly Placed[] {
  const draw = createDraw(`turns ${seed}`);
  const offsets = new Map<string, number>();
  const placed: Placed[] = [];
  const add = (
    type: string,
    id: string,
    { nth, ms = 0, ...data }: Readonly<Record<string, unknown>>,
  ): void => {
    const event = { type, id, subject: 'l', time: new Date(Number(ms)).toISOString(), data };
    const topic = topicOf(event as unknown as ClawLoopEvent);
    const partition = topic === 'training' ? 0 : Math.floor(Number(nth) / 10) % PARTITIONS;
    const place = `${topic}/${partition}`;
    const offset = offsets.get(place) ?? 0;
    offsets.set(place, offset + 1);
    const record = { event, at: { partition, offset }, time: Number(ms) };
    placed.push({ topic, record: record as unknown as Placed['record'] });
  };
  const waiting: (() => void)[] = [];
  for (let n = 0; n < count; n++) {
    const ms = first + Math.floor((n + draw(4)) * paces[seed % paces.length]!);
    const chain = [...chainOf({ n, ms }, draw, add)];
    chain.shift()!();
    for (const step of chain) waiting.push(step);
    // effects of several turns mix
    for (let steps = draw(10); steps > 0 && waiting.length > 0; steps--) waiting.shift()!();
  }
  for (const step of waiting) step();
  return placed;
}

type Add = (type: string, id: string, data: Readonly<Record<string, unknown>>) => void;

type Turn = { readonly n: number; readonly ms: number };

function* chainOf({ n, ms }: Turn, draw: (most: number) => number, add: Add): Generator<() => void> {
  const [id, session] = [`t-${String(n).padStart(3, '0')}`, `s-${Math.floor(n / 5)}`];
  const settle = Math.floor(n / 5) % 4 === 3 ? 'reward' : 'votes';
  const adapter = draw(4) === 0 ? 'other' : 'default';
  const about = { nth: n, turnId: id, session, settle, rule: 'r' };
  const words = [{ role: 'user', content: `question ${n % 4}` }];
  const answer = { role: 'assistant', content: 'a' };
  const of = { lane: 'l', key: `key-${draw(3)}`, adapter, live: draw(8) > 0, version: draw(4), settle };
  yield () =>
    add('interaction.completed', id, { nth: n, ms, interactionId: id, ...of, messages: words, answer });
  if (n % 5 === 0)
    yield () => add('session.started', `${session}/started`, { ...about, task: `task ${n % 3}` });
  if (draw(6) === 0) {
    yield () => add('turn.skipped', `${id}/skipped`, { ...about, reason: reasons[draw(3)] });
    return;
  }
  yield () =>
    add('turn.completed', `${id}/completed`, { ...about, next: draw(3) === 0 ? [] : words, from: id });
  if (settle === 'reward')
    yield () => add('turn.feedback', `${id}/return`, { nth: n, turnId: id, return: { own: draw(7) / 3 } });
  const judged = {
    nth: n,
    turnId: id,
    score: draw(3) - 1,
    source: 'votes',
    hints: [hints[draw(4)], hints[draw(4)]],
  };
  if (draw(8) > 0) yield () => add('judgment.reached', `${id}/judgment`, judged);
  if (draw(3) === 0) yield () => add('judgment.reached', `${id}/judgment`, judged);
  if (n % 5 === 4) yield () => add('session.closed', `${session}/closed`, about);
  if (draw(3) === 0) return;
  yield () => add('sample.ready', `${id}/ready`, { nth: n, sampleId: id });
  if (draw(4) === 0)
    yield () =>
      add('judgment.revised', `${id}/revised`, { ...judged, score: draw(3) - 1, source: 'feedback' });
  if (draw(3) === 0) return;
  const batchId = `b-${n}`;
  yield () =>
    add('batch.submitted', batchId, {
      ...{ n, batchId, adapter, parent: 0, size: 1, maxStaleness: 4, seed: 1, settings },
      samples: [{ sampleId: id, at: { partition: 0, offset: 0 } }],
    });
  const made = { batchId, from: 0, to: n, checkpoint: 'c', digest: 'd' };
  if (draw(3) > 0) yield () => add('policy.promoted', `${batchId}/promoted`, made);
  else yield () => add('policy.rejected', `${batchId}/rejected`, { batchId, reason: 'canary', detail: '' });
}

/** By topic, in the order of the loop. */
export const inLoop = (records: readonly Placed[]): readonly Placed[] =>
  (['conversations', 'turns', 'training'] as const satisfies readonly Topic[]).flatMap((topic) =>
    records.filter((one) => one.topic === topic),
  );
