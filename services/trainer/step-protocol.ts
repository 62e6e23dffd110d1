import type { TrainingKind } from '../../shared/events/training-settings.ts';
import type { BackendChoice } from '../../shared/policy/backend.ts';
import type { Candidate, NoCandidate, StepInput, StepParent, StepProgress } from './step.ts';

/** What passes between the trainer and the thread that computes. */

export type WorkerSettings = {
  readonly modelFolder: string;
  readonly backend: BackendChoice;
  /** what is made ready for before the first step comes */
  readonly training: TrainingKind;
  readonly threads: number;
  /** 0 to 19 */
  readonly niceness: number;
};

/** The memory of a version's numbers: it is handed to the other thread, and not copied. */
export function buffersOf({ adapter, optimizer }: StepParent): readonly ArrayBuffer[] {
  const arrays = [
    ...[...adapter.tensors.values()].map(({ values }) => values),
    ...optimizer.first.values(),
    ...optimizer.second.values(),
  ];
  const buffers = new Set(arrays.map(({ buffer }) => buffer));
  return [...buffers].filter((buffer) => buffer instanceof ArrayBuffer);
}

export type StepRequest = { readonly id: number; readonly input: StepInput };

export type WorkerMessage =
  | { readonly kind: 'opened'; readonly report: string; readonly fingerprint: string }
  | { readonly kind: 'progress'; readonly id: number; readonly progress: StepProgress }
  | {
      readonly kind: 'result';
      readonly id: number;
      readonly result: Candidate | NoCandidate;
      readonly fingerprint: string;
      /** alive on the backend after the step */
      readonly tensors: number;
    }
  | { readonly kind: 'error'; readonly id: number; readonly error: Error };
