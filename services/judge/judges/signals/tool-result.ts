import { type ChatMessage, contentText } from '../../../../shared/chat/message.ts';

/**
 * What a tool's result says about the call. A call that merely worked is no praise; a service that is down is
 * nobody's fault.
 */
export type ToolOutcome = {
  readonly outcome: 'error' | 'out-of-service' | 'worked';
  /** that it was read from; '' where the call worked */
  readonly line: string;
};

const worked: ToolOutcome = { outcome: 'worked', line: '' };

/** A longer output is what a call brought, and no message about the call. Characters. */
const SHORT = 600;
/** A longer line is no message either. Characters. */
const LONGEST_LINE = 300;

/**
 * By the status of the call alone: what its client marks, an exit code, the status of a short structured
 * result, the first line. The body is what somebody else wrote: whatever stands in it is evidence of nothing.
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
/** In the line that reports a failure. Words count at its end alone: before that they may be quoted. */
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

/** A line that nothing but a runner of commands writes, before or behind an output of any length. */
const exitLine =
  /^(?:\(?(?:the )?(?:process|command|program|script) (?:has )?(?:exited|finished|failed|ended|terminated)(?: with)?(?: an?)?(?: non-zero)?(?: exit)? (?:code|status)|exit(?:ed)?(?: with)?(?: code| status)?|return code)[:= ]+(?!0\b)\d{1,3}\)?\.?$/i;
/** A first line of this form reports a failure, whatever follows. */
const firstLines: readonly RegExp[] = [
  /^(?:[A-Za-z_.]*(?:Error|Exception)|error|exception|fatal|panic|failure)(?: ?[[(][^\])]{1,40}[\])])?: \S/i,
  /^Traceback \(most recent call last\):?$/,
  /^HTTP(?:\/\d(?:\.\d)?)?(?: error| status)?:? (?:4\d\d|5\d\d)\b/i,
  /^npm (?:ERR!|error)/,
];
/** These report a failure where the output holds little else. */
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

function parseObject(text: string): Fields | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Fields;
  } catch {
    return undefined;
  }
}

/** What runners of commands and of tools write into a result. A document has fields of other names as well. */
const ofRunners = new Set(
  (
    'exit_code exitCode stdout stderr output content text result error errors message reason is_error isError ' +
    'success ok status signal command cmd cwd pid duration duration_ms timed_out timedOut truncated'
  ).split(' '),
);

/** Of a long result a status counts only beside what runners of calls write, and nothing else. */
function isFailure(fields: Fields, isShort: boolean): boolean {
  const { is_error, isError, success, ok, exit_code, exitCode, status, error, errors } = fields;
  if (!isShort && !Object.keys(fields).every((name) => ofRunners.has(name))) return false;
  if ([is_error, isError].includes(false)) return false;
  if ([is_error, isError].includes(true)) return true;
  if ([exit_code, exitCode].some((code) => typeof code === 'number' && code !== 0)) return true;
  if (!isShort) return false;
  return (
    [success, ok].includes(false) ||
    [error, errors].some(saysWhatFailed) ||
    (typeof status === 'string' && /^(?:error|failed|failure|fail)$/i.test(status)) ||
    (typeof status === 'number' && status >= 400 && status < 600)
  );
}

/** A number is a measure of something, as a margin of error is. */
function saysWhatFailed(error: unknown): boolean {
  if (Array.isArray(error)) return error.some(saysWhatFailed);
  if (typeof error !== 'object' || error === null)
    return error === true || (typeof error === 'string' && error !== '');
  return ['message', 'code', 'type', 'reason', 'detail'].some((name) => name in error);
}

/** The first line of what such a result says about its failure. */
function reasonIn({ error, message, reason }: Fields): string {
  const inside = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
  const said = [inside, message, reason].find((one) => typeof one === 'string' && one !== '');
  return firstLine(typeof said === 'string' ? said : 'the result says that the call failed');
}
