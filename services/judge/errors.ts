import { errorTable } from '../../shared/runtime/errors.ts';

/** These errors are logged: no message contains words of a conversation. */
export const JudgeError = errorTable({
  /** Thrown when the connection to the judge's server fails, or while the exam has not finished. */
  JUDGE_UNREACHABLE: { status: 502, type: 'server_error', message: 'the judge is not available: {reason}' },
  /** Thrown when the judge's server answers with a status that is not 2xx. */
  JUDGE_REFUSED: {
    status: 502,
    type: 'server_error',
    message: 'the judge answered with status {httpStatus}',
  },
  /** Thrown when the answer of the judge's server is not a chat completion. */
  JUDGE_GARBAGE: {
    status: 502,
    type: 'server_error',
    message: "the judge's answer is not a chat completion: {reason}",
  },
  /** Thrown when the judge's server answers no exchange of the exam within the time limit of one. */
  JUDGE_SILENT: {
    status: 504,
    type: 'server_error',
    message: 'no answer from the judge for {seconds} s',
  },
  /** Thrown when a vote runs into its time limit. Counts against the turn. */
  VOTE_OVERRAN: { status: 500, type: 'server_error', message: 'the vote timed out' },
  /** Thrown when the rules fail on a turn, or their thread ends during its vote. Counts against the turn. */
  VOTE_BROKE: { status: 500, type: 'server_error', message: 'the vote failed: {reason}' },
  /** Thrown when the thread of the rules or the ear cannot start. */
  THREAD_NOT_STARTED: {
    status: 500,
    type: 'server_error',
    message: 'the judge thread did not start: {reason}',
  },
  /** Thrown when the thread of the judge model ends during a vote, for example because memory ran out. */
  MODEL_ENDED: { status: 500, type: 'server_error', message: 'the judge model stopped: {reason}' },
  /** Thrown when the judge model fails on a prompt. */
  MODEL_FAILED: { status: 500, type: 'server_error', message: 'the judge model failed: {reason}' },
  /** Thrown when the files of the ear are damaged or have another version. */
  EAR_UNREADABLE: { status: 500, type: 'server_error', message: 'cannot load the ear: {reason}' },
  /** Thrown when the record at the position of a job is not the turn that the job names. */
  NOT_THE_TURN: {
    status: 500,
    type: 'server_error',
    message: 'expected turn {turnId} at {partition}/{offset}, found {found}',
  },
});
