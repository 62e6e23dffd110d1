/**
 * What a tool's output says about the call. A call that merely worked is no praise; a service that is down is
 * nobody's fault.
 */
export type ToolOutcome = 'error' | 'out-of-service' | 'worked';

const outOfService = new RegExp(
  [
    '\\b(?:ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENOTFOUND|timed? ?out|rate limit(?:ed)?)\\b',
    '\\b(?:too many requests|service unavailable|bad gateway|gateway timeout|temporarily unavailable)\\b',
    '\\b(?:http|status|error)\\D{0,12}(?:429|50[234])\\b',
  ].join('|'),
  'i',
);

const errorTexts: readonly RegExp[] = [
  /^\s*(?:\w*error|exception|fatal|failed|failure|panic|usage|invalid)\b[^\n]{0,4}[:!( ]/i,
  /^\s*unknown (?:tool|command|option|argument)\b/i,
  /^Traceback \(most recent call last\)/m,
  /\b\w*(?:Error|Exception): /,
  /\b(?:command not found|no such file or directory|permission denied|is not recognized as|file not found)\b/i,
  /\b(?:cannot find module|syntax error|segmentation fault|does not exist|undefined reference)\b/i,
  /\b(?:exit(?:ed)?(?: with)?(?: code| status)?|return code)[:= ]+(?!0\b)\d+/i,
  /^npm ERR!/m,
];
/** How much of an output is read; errors stand at its beginning or its end. Characters. */
const READ = 2000;

export function toolOutcome(output: string): ToolOutcome {
  const json = parseObject(output);
  if (json !== undefined && hasStatus(json)) {
    if (!isFailure(json)) return 'worked';
    return outOfService.test(output.slice(0, READ)) ? 'out-of-service' : 'error';
  }
  const read = output.length <= 2 * READ ? output : `${output.slice(0, READ)}\n${output.slice(-READ)}`;
  if (!errorTexts.some((pattern) => pattern.test(read))) return 'worked';
  return outOfService.test(read) ? 'out-of-service' : 'error';
}

type Fields = Readonly<Record<string, unknown>>;

function parseObject(text: string): Fields | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

const statusFields = [
  'error',
  'errors',
  'is_error',
  'isError',
  'success',
  'ok',
  'exit_code',
  'exitCode',
  'status',
];
const hasStatus = (fields: Fields): boolean => statusFields.some((name) => name in fields);

function isFailure(fields: Fields): boolean {
  const errors = [fields.error, fields.errors].filter(
    (value) => value !== undefined && value !== null && value !== false && value !== '',
  );
  const { is_error, isError, success, ok, exit_code, exitCode, status } = fields;
  return (
    errors.some((value) => !Array.isArray(value) || value.length > 0) ||
    [is_error, isError].includes(true) ||
    [success, ok].includes(false) ||
    [exit_code, exitCode].some((code) => typeof code === 'number' && code !== 0) ||
    (typeof status === 'string' && /^(?:error|failed|failure|fail)$/i.test(status)) ||
    (typeof status === 'number' && status >= 400)
  );
}
