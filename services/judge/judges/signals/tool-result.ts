import { type ChatMessage, contentText } from '../../../../shared/chat/message.ts';
import { parseJson } from '../../../../shared/lang/json.ts';

/** The outcome of a tool call. Success is not praise, and an unavailable service is not the policy's fault. */
type ToolOutcome = {
  readonly outcome: 'error' | 'out-of-service' | 'worked';
  /** the line that shows the outcome; '' for a successful call */
  readonly line: string;
};

const worked: ToolOutcome = { outcome: 'worked', line: '' };

/** A longer output is the result of a call, not a message about it. Characters. */
const SHORT = 600;
/** A longer line is no message either. Characters. */
const LONGEST_LINE = 300;

/**
 * Reads only the status of the call: the mark of the client, an exit code, the status of a short structured result,
 * or the first line. The body may be a stranger's text, so nothing in it is evidence.
 */
export function toolOutcome(message: ChatMessage): ToolOutcome {
  const output = contentText(message.content).trim();
  const marked = message.is_error ?? message.isError;
  if (marked === false) return worked;
  const fields = parseObject(output);
  if (marked === true) return failure(fields === undefined ? firstLine(output) : reasonIn(fields));
  if (fields !== undefined)
    return isFailure(fields, output.length <= SHORT) ? failure(reasonIn(fields), fields) : worked;
  const line = statusLine(output);
  return line === undefined ? worked : failure(line);
}

function failure(line: string, { status }: Fields = {}): ToolOutcome {
  const isDown =
    downStatuses.includes(status as number) || outOfService.some((pattern) => pattern.test(line));
  return { outcome: isDown ? 'out-of-service' : 'error', line };
}

const downStatuses = [429, 502, 503, 504];
/** Patterns for the line that reports a failure. Words count only at its end: elsewhere they may be quoted. */
const outOfService: readonly RegExp[] = [
  /\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTFOUND)\b/,
  /\b(?:timed? ?out|rate limit(?:ed| exceeded)?|too many requests|service unavailable|bad gateway|gateway timeout|temporarily unavailable)(?: after [\d.]+ ?(?:ms|s|sec|seconds|minutes|min))?\W*$/i,
  /\b(?:http|status|error)\D{0,12}(?:429|50[234])\b/i,
];

const firstLine = (output: string): string => {
  const end = output.indexOf('\n');
  return (end === -1 ? output : output.slice(0, end)).trim().slice(0, LONGEST_LINE);
};
const lastLine = (output: string): string =>
  output
    .slice(output.lastIndexOf('\n') + 1)
    .trim()
    .slice(0, LONGEST_LINE);

/** A line that only command runners write, before or behind output of any length. */
const exitLine =
  /^(?:\(?(?:the )?(?:process|command|program|script) (?:has )?(?:exited|finished|failed|ended|terminated)(?: with)?(?: an?)?(?: non-zero)?(?: exit)? (?:code|status)|exit(?:ed)?(?: with)?(?: code| status)?|return code)[:= ]+(?!0\b)\d{1,3}\)?\.?$/i;
/** First lines that report a failure, whatever follows. */
const firstLines: readonly RegExp[] = [
  /^(?:[A-Za-z_.]*(?:Error|Exception)|error|exception|fatal|panic|failure)(?: ?[[(][^\])]{1,40}[\])])?: \S/i,
  /^Traceback \(most recent call last\):?$/,
  /^HTTP(?:\/\d(?:\.\d)?)?(?: error| status)?:? (?:4\d\d|5\d\d)\b/i,
  /^npm (?:ERR!|error)/,
];
/** First lines that report a failure if the output is short. */
const shortOutputs: readonly RegExp[] = [
  /^(?:error|failed|failure|invalid|usage|fatal|exception|panic|unable|cannot|can't)\b/i,
  /^(?:status|error)\D{0,12}(?:4\d\d|5\d\d)\b/i,
  /^(?:4\d\d|5\d\d) [A-Z][a-z]/,
  /^unknown (?:tool|command|option|argument)\b/i,
  /^[\w./' -]{1,80}: (?:[^<>"]{0,160}: ?)?(?:command not found|not found|no such file or directory|permission denied|file exists|is a directory|not a directory)$/i,
  /^'[^']{1,80}' is not recognized as\b/i,
];

function statusLine(output: string): string | undefined {
  const [first, last] = [firstLine(output), lastLine(output)];
  const exit = [first, last].find((line) => exitLine.test(line));
  if (exit !== undefined) return exit;
  const isReport = firstLines.some((pattern) => pattern.test(first));
  const isShort = output.length <= SHORT && shortOutputs.some((pattern) => pattern.test(first));
  return isReport || isShort ? first : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

const parseObject = (text: string): Fields | undefined =>
  text.startsWith('{') ? (parseJson(text) as Fields | undefined) : undefined;

/** Fields that command and tool runners write into a result. A document has other fields too. */
const runnerFields = new Set(
  (
    'exit_code exitCode stdout stderr output content text result error errors message reason is_error isError ' +
    'success ok status signal command cmd cwd pid duration duration_ms timed_out timedOut truncated'
  ).split(' '),
);

/** In a long result a status counts only if all fields are runner fields. */
function isFailure(fields: Fields, isShort: boolean): boolean {
  const { is_error, isError, success, ok, exit_code, exitCode, status, error, errors } = fields;
  if (!isShort && !Object.keys(fields).every((name) => runnerFields.has(name))) return false;
  if ([is_error, isError].includes(false)) return false;
  if ([is_error, isError].includes(true)) return true;
  if ([exit_code, exitCode].some((code) => typeof code === 'number' && code !== 0)) return true;
  if (!isShort) return false;
  return (
    [success, ok].includes(false) ||
    [error, errors].some(isErrorReport) ||
    (typeof status === 'string' && /^(?:error|failed|failure|fail)$/i.test(status)) ||
    (typeof status === 'number' && status >= 400 && status < 600)
  );
}

/** A number is no error report: it may be a margin of error. */
function isErrorReport(error: unknown): boolean {
  if (Array.isArray(error)) return error.some(isErrorReport);
  if (typeof error !== 'object' || error === null)
    return error === true || (typeof error === 'string' && error !== '');
  return ['message', 'code', 'type', 'reason', 'detail'].some((name) => name in error);
}

/** The first line of the error message in a result. */
function reasonIn({ error, message, reason }: Fields): string {
  const nested = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const text = [nested, message, reason].find((field) => typeof field === 'string' && field !== '');
  return firstLine(typeof text === 'string' ? text : 'the result says that the call failed');
}
