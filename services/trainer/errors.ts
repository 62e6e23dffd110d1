import { errorTable } from '../../shared/service/errors.ts';

/** Why the trainer does not start, or a step does not end. */
export const TrainerError = errorTable({
  /**
   * Thrown at start when checkpoints belong to another log: their numbers would be mixed up with the log's.
   */
  FOREIGN_CHECKPOINTS: {
    status: 500,
    type: 'server_error',
    message:
      'Checkpoint {name} in {folder} was made from log {found}, this log is {expected}. Move the folder away, or start with the data folder that both belong to.',
  },
  /** Thrown when the record at a batch's position is not the sample that the batch names. */
  SAMPLE_MISMATCH: {
    status: 500,
    type: 'server_error',
    message: 'Batch {batch} names sample {sample} at {position}, where {found} stands.',
  },
  /** Thrown when a teacher reads other tokens than the policy writes. */
  TEACHER_VOCABULARY: {
    status: 500,
    type: 'server_error',
    message:
      "The teacher {teacher} has another vocabulary than the policy; it cannot read the policy's tokens.",
  },
  /** Thrown when a position is to be compared at more tokens than there are. */
  TOP_K_VOCABULARY: {
    status: 500,
    type: 'server_error',
    message: 'topK is {topK}, the vocabulary has {vocabulary} tokens.',
  },
  /** Thrown when a step's thread ended without an answer. */
  WORKER_ENDED: { status: 500, type: 'server_error', message: "The step's thread ended with code {code}." },
});
