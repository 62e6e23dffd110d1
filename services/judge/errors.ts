import { errorTable } from '../../shared/service/errors.ts';

/** None of these carries words of a conversation: they are logged. */
export const JudgeError = errorTable({
  /** Thrown when no connection to the judge's server could be made, or it broke. */
  JUDGE_UNREACHABLE: { status: 502, type: 'server_error', message: 'the judge cannot be reached: {reason}' },
  /** Thrown when the judge's server answers with a status that is not 2xx. */
  JUDGE_REFUSED: {
    status: 502,
    type: 'server_error',
    message: 'the judge answered with status {httpStatus}',
  },
  /** Thrown when the body is not a chat completion. */
  JUDGE_GARBAGE: {
    status: 502,
    type: 'server_error',
    message: 'the judge did not answer with a chat completion: {reason}',
  },
  /** Thrown when the record at a job's position is not the turn that the job names. */
  NOT_THE_TURN: {
    status: 500,
    type: 'server_error',
    message: 'at {partition}/{offset} stands {found}, not turn {turnId}',
  },
});
