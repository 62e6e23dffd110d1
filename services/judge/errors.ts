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
  /** Thrown when the judge's server answers nothing while the time limit of an exchange of the exam runs. */
  JUDGE_SILENT: {
    status: 504,
    type: 'server_error',
    message: 'the judge has answered nothing for {seconds} s',
  },
  /** Thrown when a vote is ended because it ran until the time limit. Counts against the turn. */
  VOTE_OVERRAN: { status: 500, type: 'server_error', message: 'the vote was ended at its time limit' },
  /** Thrown when the rules fail on a turn or the thread ends under it. Counts against the turn. */
  VOTE_BROKE: { status: 500, type: 'server_error', message: 'the vote broke the judge: {reason}' },
  /** Thrown when the thread of the rules cannot be started. */
  THREAD_NOT_STARTED: {
    status: 500,
    type: 'server_error',
    message: 'the thread of the rules did not start: {reason}',
  },
  /** Thrown when the thread of the judge model ends under a vote, as it does for want of memory. */
  MODEL_ENDED: { status: 500, type: 'server_error', message: 'the judge model ended: {reason}' },
  /** Thrown when the judge model fails on a prompt. */
  MODEL_FAILED: { status: 500, type: 'server_error', message: 'the judge model failed: {reason}' },
  /** Thrown when the files of the learned ear are damaged or of another version. */
  EAR_UNREADABLE: { status: 500, type: 'server_error', message: 'the ear cannot be read: {reason}' },
  /** Thrown when the record at a job's position is not the turn that the job names. */
  NOT_THE_TURN: {
    status: 500,
    type: 'server_error',
    message: 'at {partition}/{offset} stands {found}, not turn {turnId}',
  },
});
