import { isServiceError, type ServiceError } from '../../../shared/runtime/errors.ts';
import { isPassing } from '../../../shared/tinker/errors.ts';

/** Whether a training server lacks the parent's state, or has another in its place. */
export const lacksParentState = (error: unknown): error is ServiceError =>
  isServiceError(error) && (error.code === 'parent_state' || error.code === 'state_missing');

/**
 * Whether an attempt ended because of the server, the account or the budget, and not because of its batch: it is no
 * strike, and the batch waits.
 */
export const isServerWait = (error: unknown): error is ServiceError =>
  lacksParentState(error) || isPassing(error);
