import { errorTable } from '../../shared/runtime/errors.ts';

/** Errors that keep the trainer from starting or a step from finishing. */
export const TrainerError = errorTable({
  /** Thrown at start if checkpoints belong to another log, because version numbers would collide. */
  FOREIGN_CHECKPOINTS: {
    status: 500,
    type: 'server_error',
    message:
      'Checkpoint {name} in {folder} belongs to log {found}, but this log is {expected}. Move the folder away, or start with the data folder that contains both.',
  },
  /** Thrown if the record at a sample's position is not the sample that the batch names. */
  SAMPLE_MISMATCH: {
    status: 500,
    type: 'server_error',
    message: 'Batch {batch} names sample {sample} at {position}, but the record there is {found}.',
  },
  /** Thrown if the words of a sample were erased, so that nothing trains on what is left. */
  SAMPLE_ERASED: { status: 500, type: 'server_error', message: 'The words of {sample} were erased at {at}.' },
  /** Thrown if the vocabularies of teacher and policy differ. */
  TEACHER_VOCABULARY: {
    status: 500,
    type: 'server_error',
    message:
      "The teacher {teacher} has a different vocabulary from the policy, so it cannot read the policy's tokens.",
  },
  /** Thrown if topK exceeds the vocabulary. */
  TOP_K_VOCABULARY: {
    status: 500,
    type: 'server_error',
    message: 'topK is {topK}, but the vocabulary has {vocabulary} tokens.',
  },
  /** Thrown if a training server has another state than the parent's. The batch waits. */
  PARENT_STATE: {
    status: 502,
    type: 'server_error',
    message:
      'The training server does not hold the parent of this step at {path}: {detail}. Restore its folder of checkpoints, or go back with `clawloop policy rollback VERSION`.',
  },
  /** Thrown if the adapter that a training server gives cannot be used. */
  SERVER_ADAPTER: {
    status: 502,
    type: 'server_error',
    message:
      'The adapter from the training server cannot be used: {detail}. Check that it trains all projections of the same model.',
  },
  /** Thrown if the step thread exited without a result. */
  WORKER_ENDED: { status: 500, type: 'server_error', message: 'The step thread exited with code {code}.' },
});
