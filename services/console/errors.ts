import { errorTable } from '../../shared/runtime/errors.ts';

/** All errors of the console. The page receives code and message. */
export const ConsoleError = errorTable({
  INVALID_REQUEST: { status: 400, type: 'invalid_request_error', message: '{detail}' },
  /** Thrown when a key is required, and it is missing, wrong or expired. */
  INVALID_KEY: {
    status: 401,
    type: 'authentication_error',
    message: 'This console needs a key of an operator of this server.',
  },
  /** Thrown when the key is valid, but its holder may only chat. */
  NOT_AN_OPERATOR: {
    status: 403,
    type: 'invalid_request_error',
    message:
      'This key may chat, but it may not open the console. Create a key with `clawloop keys create NAME --operator`.',
  },
  /** Thrown when another web page sends the request. */
  FOREIGN_ORIGIN: {
    status: 403,
    type: 'invalid_request_error',
    message: 'The console answers only its own page.',
  },
  KEYS_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'The console cannot read the access keys; see its log.',
  },
  NOT_FOUND: { status: 404, type: 'invalid_request_error', message: 'There is no {what}.' },
  /** Thrown when a newer version of ClawLoop wrote the record. */
  RECORD_NEWER: { status: 409, type: 'invalid_request_error', message: '{reason}' },
  LOG_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'The log cannot be read at the moment. Try again.',
  },
  TOO_MANY_LISTENERS: {
    status: 429,
    type: 'rate_limit_error',
    message: '{most} pages already follow this console. Close one.',
  },
  /** Thrown when an audit or export already runs. */
  BUSY: { status: 409, type: 'invalid_request_error', message: '{what} is already running.' },
  EXPORT_FAILED: {
    status: 500,
    type: 'server_error',
    message: 'The sessions could not be exported: {detail}',
  },
  SERVING_DOWN: {
    status: 502,
    type: 'server_error',
    message: 'Serving does not answer at {url}.',
  },
  INTERNAL: {
    status: 500,
    type: 'server_error',
    message: 'An internal error occurred. The log of the console shows the cause.',
  },
});
