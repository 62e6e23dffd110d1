import type { EventLog } from '../../../shared/log/event-log.ts';
import {
  CheckpointDamaged,
  type CheckpointStore,
} from '../../../shared/policy/checkpoints/checkpoint-store.ts';
import type { TrainedWeights } from '../../../shared/policy/checkpoints/full-weights.ts';
import { readFingerprint } from '../fingerprint.ts';
import { type Replayed, replayInput, type TrainedVersion } from '../replay-step.ts';
import type { StepRunner } from '../step-runner.ts';

/**
 * Largest distance of two runs of one step, relative to the length of the step. Measured between a server and this
 * program in f32: below 1e-4.
 */
const MOST_APART = 1e-2;

type Sources = {
  readonly log: Pick<EventLog, 'read'>;
  readonly runner: Pick<StepRunner, 'run' | 'removeState'>;
  readonly storeOf: (adapter: string) => CheckpointStore;
};

/** Trains a version on its server again from the state of its parent, and compares the adapters within bounds. */
export async function replayOnServer(version: TrainedVersion, sources: Sources): Promise<Replayed> {
  const { trained } = version;
  const { adapter, version: n } = trained;
  const about = { adapter, version: n, runtime: readFingerprint(trained.fingerprint).runtime };
  const notCovered = (why: string): Replayed => ({ ...about, kind: 'not-covered', why });
  const input = await replayInput(version, sources);
  if ('why' in input) return notCovered(input.why);
  const store = sources.storeOf(adapter);
  if (!(await store.has(trained.checkpoint))) return notCovered('its checkpoint was removed');
  const kept = await store.read(trained.checkpoint).catch((error: unknown) => {
    if (error instanceof CheckpointDamaged) return error.message;
    throw error;
  });
  if (typeof kept === 'string') return notCovered(kept);
  const states: string[] = [];
  const onState = async (path: string) => void states.push(path);
  const never = new AbortController().signal;
  const label = `${trained.checkpoint}-replay-${Date.now().toString(36)}`;
  const { result } = await sources.runner.run({ ...input, label }, () => {}, never, { onState });
  for (const path of states) await sources.runner.removeState?.(path);
  if (result.kind !== 'candidate')
    return { ...about, kind: 'different', digest: `none: ${result.detail}`, expected: trained.digest };
  const apart = relativeDistance(input.parent?.adapter, kept.adapter, result.adapter);
  return apart <= MOST_APART
    ? { ...about, kind: 'close', apart }
    : {
        ...about,
        kind: 'different',
        digest: `an adapter that is ${apart.toPrecision(2)} of the step away`,
        expected: `at most ${MOST_APART}`,
      };
}

/** L2 distance of two adapters, relative to the step from their start; a fresh adapter counts from 0. */
function relativeDistance(
  from: TrainedWeights | undefined,
  to: TrainedWeights,
  again: TrainedWeights,
): number {
  let [apart, length] = [0, 0];
  for (const [name, { values }] of to.tensors) {
    const [others, start] = [again.tensors.get(name)?.values, from?.tensors.get(name)?.values];
    for (let at = 0; at < values.length; at++) {
      apart += (values[at]! - (others?.[at] ?? 0)) ** 2;
      length += (values[at]! - (start?.[at] ?? 0)) ** 2;
    }
  }
  return Math.sqrt(apart / length);
}
