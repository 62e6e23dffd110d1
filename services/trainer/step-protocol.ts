import type { TrainingKind } from '../../shared/events/training-settings.ts';
import type { BackendChoice } from '../../shared/policy/executors/backend.ts';
import type { Candidate, NoCandidate, StepInput, StepParent } from './step.ts';

/** What passes between the trainer and the thread that computes. */

export type WorkerSettings = {
  readonly modelFolder: string;
  readonly backend: BackendChoice;
  /** kind of training to warm up for */
  readonly training: TrainingKind;
  readonly threads: number;
  /** 0 to 19 */
  readonly niceness: number;
};

/** The memory of a version's numbers: it is handed to the other thread, and not copied. */
export function buffersOf({ adapter, optimizer }: StepParent): readonly ArrayBuffer[] {
  const arrays = [
    ...[...adapter.tensors.values()].map(({ values }) => values),
    ...(optimizer.kind === 'remote' ? [] : [...optimizer.first.values(), ...optimizer.second.values()]),
  ];
  const buffers = new Set(arrays.map(({ buffer }) => buffer));
  return [...buffers].filter((buffer) => buffer instanceof ArrayBuffer);
}

export type Opened = { readonly report: string; readonly fingerprint: string };

export type Stepped = {
  readonly result: Candidate | NoCandidate;
  readonly fingerprint: string;
  /** alive on the backend after the step */
  readonly tensors: number;
};

/** Its events are `StepProgress`. */
export type StepCalls = { readonly step: { readonly ask: StepInput; readonly result: Stepped } };
