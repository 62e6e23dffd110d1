import { errorTable } from '../../shared/runtime/errors.ts';

/** All errors of serving. Clients receive the codes in lower case, in the error shape of the API. */
export const ServingError = errorTable({
  /** Thrown when a request field is malformed or out of range. */
  INVALID_REQUEST: { status: 400, type: 'invalid_request_error', message: '{detail}' },
  /**
   * Thrown when a field needs a feature that the engine lacks, and ignoring the field would change the answer; with
   * --strict-fields also for unknown fields and for tools that a server would run.
   */
  UNSUPPORTED_PARAMETER: {
    status: 400,
    type: 'invalid_request_error',
    message: "'{param}' is not supported: {detail}",
  },
  /** Thrown when the body is not JSON. */
  INVALID_JSON: { status: 400, type: 'invalid_request_error', message: 'The body is not valid JSON.' },
  /** Thrown when the prompt alone exceeds the policy's context. OpenClaw recognises the code and compacts. */
  CONTEXT_LENGTH_EXCEEDED: {
    status: 400,
    type: 'invalid_request_error',
    message:
      "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens.",
  },
  /** Thrown when the chat template rejects the messages. */
  TEMPLATE_REFUSED: {
    status: 400,
    type: 'invalid_request_error',
    message: "The policy's chat template rejects these messages: {detail}",
  },
  /** Thrown when a request needs more time or memory to parse than the limits allow. */
  REQUEST_TOO_COSTLY: {
    status: 400,
    type: 'invalid_request_error',
    message: "Invalid '{param}': parsing it exceeds the time or memory limit of a request.",
  },
  /**
   * Thrown when a required key is missing or wrong. Never for a temporary cause, because clients then stop using
   * the key.
   */
  INVALID_API_KEY: {
    status: 401,
    type: 'authentication_error',
    message:
      'Incorrect API key provided, or none. Send a key of this server as `Authorization: Bearer <key>`; the command line takes it as --key.',
  },
  /**
   * Thrown when a server without keys receives a request under a host name that is not loopback: a web page may
   * have rebound its name.
   */
  HOST_NOT_LOOPBACK: {
    status: 403,
    type: 'invalid_request_error',
    message:
      'Without an access key this server answers only under localhost and 127.0.0.1, not under {host}.',
  },
  /** Thrown when a key or its session is bound to an adapter that this server does not serve. */
  KEY_OF_ANOTHER_ADAPTER: {
    status: 403,
    type: 'invalid_request_error',
    message: "This key is for the adapter '{adapter}', which this server does not serve.",
  },
  /** Thrown when a request of the session protocol is sent without a session key. */
  INVALID_SESSION_KEY: {
    status: 401,
    type: 'authentication_error',
    message: 'This request requires a session key, as returned by /rl/start_session (`sk-sess-...`).',
  },
  /** Thrown when a session key requests something outside its session. */
  NOT_FOR_SESSION_KEYS: {
    status: 403,
    type: 'invalid_request_error',
    message: 'A session key is valid only for its own session; this request requires an access key.',
  },
  /** Thrown when a request changes what is served or deletes what others said, and the key is no operator's. */
  NOT_AN_OPERATOR: {
    status: 403,
    type: 'invalid_request_error',
    message: 'This request requires the key of an operator: `clawloop keys create NAME --operator`.',
  },
  /** Thrown when an operator names an adapter that this server does not serve. */
  UNKNOWN_ADAPTER: {
    status: 404,
    type: 'invalid_request_error',
    message: "This server does not serve the adapter '{adapter}'.",
  },
  /** Thrown when an operator rolls back to a version that was never the head. */
  VERSION_NEVER_SERVED: {
    status: 404,
    type: 'invalid_request_error',
    message: 'Version {version} was never served.',
  },
  /** Thrown when an operator names a turn that is not at the given position of the log. */
  TURN_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "There is no turn '{id}' at this position of the log.",
  },
  /** Thrown when the log does not answer while an operator's request needs it. Carries Retry-After. */
  LOG_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'The log cannot be read at the moment. Try again.',
  },
  /** Thrown when a session key is used after its session ended. */
  SESSION_ENDED: {
    status: 410,
    type: 'invalid_request_error',
    message: 'The session of this key has ended. Start another session, with this key or a new one.',
  },
  /** Thrown when a reward is sent to a session without answers. */
  NOTHING_TO_REWARD: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The session has no complete answer to reward yet. Send a chat request first.',
  },
  /** Thrown when a reward names an answer of another session, or of none. */
  INTERACTION_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "Interaction '{id}' does not belong to this session.",
  },
  /** Thrown when the session to end does not exist for the caller's key, or has ended. */
  SESSION_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "You have no open session '{session}'.",
  },
  /** Thrown when a session has no environment, or its session belongs to another access key. */
  LEASE_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "The session '{session}' has no environment.",
  },
  /** Thrown when the lease of an environment was released, or expired without renewal. */
  LEASE_ENDED: {
    status: 409,
    type: 'invalid_request_error',
    message: "The lease of the environment of session '{session}' has ended.",
  },
  /** Thrown when a session is restarted with a session key that does not belong to the caller. */
  UNKNOWN_SESSION_KEY: {
    status: 400,
    type: 'invalid_request_error',
    message: "'api_key' is not one of your session keys. Omit it to get a new key.",
  },
  /** Thrown when feedback names an answer of another key or session, or one that does not exist. */
  FOREIGN_COMPLETION: {
    status: 404,
    type: 'invalid_request_error',
    message: "This key has no completion '{id}'.",
  },
  MODEL_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "The model '{model}' does not exist or is no longer available.",
  },
  /** Thrown when a client requests the token count of a prompt that only the upstream engine can count. */
  TOKENS_UNKNOWN: {
    status: 404,
    type: 'invalid_request_error',
    message: 'The upstream engine counts tokens itself, so this server cannot count them.',
  },
  /** Thrown when the previous response does not belong to this key, or is not in the log. */
  PREVIOUS_RESPONSE_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "There is no previous response '{id}'.",
  },
  /** Thrown when a response does not belong to this key, was not stored, or was deleted. */
  RESPONSE_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "There is no response '{id}'.",
  },
  /** Thrown when input refers to an item of an answer that does not belong to this key, or is not in the log. */
  ITEM_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "There is no item '{id}'.",
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: 'Unknown request: {method} {path}.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    type: 'invalid_request_error',
    message: 'Method not allowed: {method} {path}.',
  },
  BODY_TOO_LARGE: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The body is larger than {limit} bytes.',
  },
  /** Thrown when the client does not send the whole body within the time limit. */
  REQUEST_TIMEOUT: {
    status: 408,
    type: 'invalid_request_error',
    message: 'The request did not arrive within {seconds} s.',
  },
  /** Thrown when the open requests of a key would exceed its byte limit. Carries Retry-After. */
  TOO_MANY_BYTES: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'The open requests of this key may have {limit} bytes in total. Try again when an answer has ended.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    type: 'invalid_request_error',
    message: 'The content type must be application/json.',
  },
  /** Thrown when the client disconnects. The status is nginx's and appears only in metrics. */
  CLIENT_LEFT: { status: 499, type: 'invalid_request_error', message: 'The client disconnected.' },
  /** Thrown when an Idempotency-Key was used before with a different request. */
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was already used with a different request. Use a new key.',
  },
  /** Thrown when the answer of an Idempotency-Key has been deleted. */
  ANSWER_DELETED: {
    status: 410,
    type: 'invalid_request_error',
    message: "The response for this Idempotency-Key, '{id}', was deleted. Use a new key to get a new answer.",
  },
  /** Thrown when the open answers of a key would exceed its limit. Carries Retry-After. */
  TOO_MANY_REQUESTS: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key may have at most {limit} open answers. Try again when an answer has ended.',
  },
  /** Thrown when a rate limit of the key is used up. Carries Retry-After. */
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key is limited to {limit}. Try again in {retryAfterSeconds} s.',
  },
  /** Thrown when the access key has reached its limit of open sessions. Carries Retry-After. */
  TOO_MANY_SESSIONS: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key already has {most} open sessions (--max-sessions). Try again when one has ended.',
  },
  /** Thrown when the samples of a new session would be too old to train. Carries Retry-After. */
  TRAINING_BEHIND: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'Training is behind: samples of a new session would exceed the maximum staleness. Try again later.',
  },
  /** Thrown when the engine's queue is full. Carries Retry-After. */
  ENGINE_BUSY: {
    status: 429,
    type: 'rate_limit_error',
    message: '{waiting} requests are already waiting for the engine. Try again later.',
  },
  UPSTREAM_RATE_LIMITED: {
    status: 429,
    type: 'rate_limit_error',
    message: 'The upstream engine is rate limited: {detail}',
  },
  /** Thrown when the upstream engine rejects the client's request. */
  UPSTREAM_REFUSED: { status: 400, type: 'invalid_request_error', message: '{detail}' },
  /** Thrown when the upstream engine reports that it is unavailable. Carries Retry-After. */
  UPSTREAM_UNAVAILABLE: {
    status: 503,
    type: 'server_error',
    message: 'The upstream engine is unavailable: {detail}',
  },
  /** Thrown when the upstream engine is unreachable, fails, or ends its response early. */
  UPSTREAM_FAILED: { status: 502, type: 'server_error', message: 'The upstream engine failed: {detail}' },
  /** Thrown when neither log nor outbox can store feedback or the end of a session. */
  NOT_RECORDED: {
    status: 503,
    type: 'server_error',
    message: 'The request could not be recorded. Try again.',
  },
  /** Thrown when the file of access keys is damaged: all requests are refused. The log has the details. */
  KEYS_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'This server cannot read its access keys; see its log.',
  },
  /** Thrown when the log is unavailable, or too long to find a previous response in time. */
  RESPONSES_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'Earlier responses cannot be read from the log at the moment. Try again.',
  },
  /** Thrown when the server has not read enough of the log to know a key's session. */
  SESSIONS_UNREAD: {
    status: 503,
    type: 'server_error',
    message: 'The server has not read all sessions from the log yet. Try again in a few seconds.',
  },
  /** Thrown when the checkpoint of a pinned version cannot be read. */
  VERSION_UNAVAILABLE: {
    status: 503,
    type: 'server_error',
    message: 'Version {version} cannot be loaded: {detail}',
  },
  /** Thrown when the head cannot be loaded and no earlier version is being served. */
  NOTHING_SERVED: { status: 503, type: 'server_error', message: 'No policy is being served: {detail}' },
  /** Thrown while the service is stopping; another replica may answer. */
  STOPPING: { status: 503, type: 'server_error', message: 'The server is stopping.' },
  ENGINE_FAILED: { status: 500, type: 'server_error', message: 'The engine failed: {detail}' },
  INTERNAL: {
    status: 500,
    type: 'server_error',
    message: 'An internal error occurred. The log of serving shows the cause.',
  },
});
