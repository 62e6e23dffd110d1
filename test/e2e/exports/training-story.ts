import { readySample } from '../../../services/collector/sample-facts.ts';
import { turnCompleted } from '../../../services/judge/testing/events.ts';
import { outcomeEvents } from '../../../services/trainer/outcome.ts';
import { BatchSubmitted } from '../../../shared/events/batch-submitted.ts';
import type { ClawLoopEvent } from '../../../shared/events/catalogue.ts';
import { recordedTrainingSettings } from '../../../shared/events/training-settings.ts';
import { defaultTrainingSettings } from '../../../shared/policy/train/training-defaults.ts';

const settings = recordedTrainingSettings.parse(defaultTrainingSettings('claw-nano').settings);
const source = 'clawloop/test';
export const STORY_START = Date.parse('2026-03-01T10:00:00.250Z');
const minute = (n: number) => new Date(STORY_START + n * 60_000).toISOString();

type Gate = 'promoted' | 'content' | 'failed';

/**
 * Three steps of an adapter: promoted, rejected by the gate, failed. Each batch has two good samples and a bad one.
 * `rounds`: how often.
 */
export function trainingStory(adapter = 'default', rounds = 1): readonly ClawLoopEvent[] {
  const gates: readonly Gate[] = ['promoted', 'content', 'failed'];
  const all = Array.from({ length: rounds }, () => gates).flat();
  return all.flatMap((gate, index) => stepEvents(adapter, index + 1, gate));
}

function stepEvents(adapter: string, n: number, gate: Gate): readonly ClawLoopEvent[] {
  const ids = [1, 2, 3].map((sample) => `${adapter}-${n}-${sample}`);
  const samples = ids.map((turnId, index) => {
    const turn = turnCompleted(turnId, {}, { adapter });
    const at = { partition: 0, offset: index };
    const verdict = { verdict: index === 0 ? -1 : 1, source: 'votes', soft: false, hints: [] } as const;
    return readySample({ ...turn, time: minute(n) }, { turnId, adapter, epoch: 'e', at }, verdict).create(
      turn,
    );
  });
  const batchId = `${adapter}/batch/${n}`;
  const data = {
    batchId,
    adapter,
    n,
    parent: Math.min(1, n - 1),
    size: 3,
    maxStaleness: 4,
    samples: ids.map((sampleId, offset) => ({ sampleId, at: { partition: 0, offset } })),
    settings,
    seed: 1,
  };
  const batch = BatchSubmitted.create({ id: batchId, source, time: minute(n), data });
  return [...samples, batch, ...outcomeEvents(data, outcomeOf(n, gate), minute(n + 0.5))];
}

function outcomeOf(n: number, gate: Gate): Parameters<typeof outcomeEvents>[1] {
  if (gate === 'failed') return { kind: 'failed', reason: 'strikes', detail: 'three attempts died' };
  const passed = gate === 'promoted';
  const refused = { passed: false, reason: 'content', detail: 'worse', figures: { contentLoss: 0.75 } };
  const state = {
    version: n,
    parent: 0,
    digest: 'd',
    batchDigest: 'b',
    samplesDigest: 's',
    metrics: { loss: 0.5 / n, klToBase: 0.0125 },
    fingerprint: 'f',
    milliseconds: 1500,
    settings,
    gate: passed ? { passed } : refused,
  };
  return { kind: 'trained', checkpoint: `${n}-x`, state } as unknown as Parameters<typeof outcomeEvents>[1];
}
