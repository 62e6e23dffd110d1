import { errorTable } from '../../shared/service/errors.ts';

/** Everything that serving says no with. Codes reach clients in lower case, in OpenAI's error shape. */
export const ServingError = errorTable({
  /** Thrown when a request field is malformed or out of range. */
  INVALID_REQUEST: { status: 400, type: 'invalid_request_error', message: '{detail}' },
  /**
   * Thrown when a field asks for what no engine here can do, and ignoring it would change the answer; with
   * --strict-fields also when a field is not known, or a tool is one that a server would run.
   */
  UNSUPPORTED_PARAMETER: {
    status: 400,
    type: 'invalid_request_error',
    message: "'{param}' is not supported: {detail}",
  },
  /** Thrown when the body is not JSON. */
  INVALID_JSON: { status: 400, type: 'invalid_request_error', message: 'The body is not valid JSON.' },
  /** Thrown when the prompt alone does not fit the policy's context. OpenClaw knows the code and compacts. */
  CONTEXT_LENGTH_EXCEEDED: {
    status: 400,
    type: 'invalid_request_error',
    message:
      "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens.",
  },
  /** Thrown when the chat template refuses the messages. */
  TEMPLATE_REFUSED: {
    status: 400,
    type: 'invalid_request_error',
    message: "The policy's chat template refuses these messages: {detail}",
  },
  /** Thrown when a request takes more time or memory to read than one may. */
  REQUEST_TOO_COSTLY: {
    status: 400,
    type: 'invalid_request_error',
    message: "Invalid '{param}': to read it takes more time or memory than a request may take.",
  },
  /**
   * Thrown when a key is needed and none or a wrong one came. Never for a passing cause: clients lock the
   * key out.
   */
  INVALID_API_KEY: {
    status: 401,
    type: 'authentication_error',
    message: 'Incorrect API key provided. Send one of this server as `Authorization: Bearer <key>`.',
  },
  /**
   * Thrown when a keyless server is asked under a name that is not loopback: a web page may have rebound
   * its name.
   */
  HOST_NOT_LOOPBACK: {
    status: 403,
    type: 'invalid_request_error',
    message: 'Without an access key this server answers under localhost and 127.0.0.1 only, not {host}.',
  },
  /** Thrown when a key, or the session of one, opens an adapter that is not served here. */
  KEY_OF_ANOTHER_ADAPTER: {
    status: 403,
    type: 'invalid_request_error',
    message: "This key opens the adapter '{adapter}', which is not served here.",
  },
  /** Thrown when a request of the session protocol came with a key that speaks for no session. */
  INVALID_SESSION_KEY: {
    status: 401,
    type: 'authentication_error',
    message: 'This needs the key of a session, as /rl/start_session gives it (`sk-sess-...`).',
  },
  /** Thrown when the key of a session asks for what is not its session's. */
  NOT_FOR_SESSION_KEYS: {
    status: 403,
    type: 'invalid_request_error',
    message: 'The key of a session speaks for that session alone; this needs an access key.',
  },
  /** Thrown when a session key would go on with a session that has ended. */
  SESSION_ENDED: {
    status: 410,
    type: 'invalid_request_error',
    message: 'The session of this key has ended; start another one, under this key or a new one.',
  },
  /** Thrown when a session that answered nothing yet is to be rewarded. */
  NOTHING_TO_REWARD: {
    status: 400,
    type: 'invalid_request_error',
    message: 'No interactions in the session yet.',
  },
  /** Thrown when a reward names an answer that the session did not give. */
  INTERACTION_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "Interaction '{id}' is not one of this session.",
  },
  /** Thrown when an end is asked for that ends nothing: the caller's key has no such session, or it is over. */
  SESSION_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "There is no session '{session}' of yours to end.",
  },
  /** Thrown when a session is to be refreshed under a key that is none of the caller's session keys. */
  UNKNOWN_SESSION_KEY: {
    status: 400,
    type: 'invalid_request_error',
    message: "'api_key' is no session key of yours; leave it out to get a new one.",
  },
  /** Thrown when feedback names an answer that was given to another key or session, or to nobody. */
  FOREIGN_COMPLETION: {
    status: 404,
    type: 'invalid_request_error',
    message: "No completion '{id}' was given to this key.",
  },
  MODEL_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "The model '{model}' does not exist or is no longer kept.",
  },
  /** Thrown when the tokens of a prompt are asked for and the engine alone knows them. */
  TOKENS_UNKNOWN: {
    status: 404,
    type: 'invalid_request_error',
    message: 'An upstream engine counts its tokens itself; they are not known here.',
  },
  /** Thrown when a response continues one that was not given to this key, or is not in the log. */
  PREVIOUS_RESPONSE_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "There is no response '{id}' to go on from.",
  },
  /** Thrown when a response is asked for that was not given to this key, was not stored, or was deleted. */
  RESPONSE_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: "There is no response '{id}'.",
  },
  /** Thrown when input refers to an item of an answer that was not given to this key, or is not in the log. */
  ITEM_NOT_FOUND: {
    status: 400,
    type: 'invalid_request_error',
    message: "There is no item '{id}' to refer to.",
  },
  ROUTE_NOT_FOUND: {
    status: 404,
    type: 'invalid_request_error',
    message: 'Unknown request: {method} {path}.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    type: 'invalid_request_error',
    message: 'Not allowed: {method} {path}.',
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
    message: 'The request was not sent within {seconds} s.',
  },
  /** Thrown when the key would have more bytes of requests under way than its limit allows. Carries Retry-After. */
  TOO_MANY_BYTES: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key may have {limit} bytes of requests under way; try again when an answer has ended.',
  },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    type: 'invalid_request_error',
    message: 'The content type must be application/json.',
  },
  /** Thrown when nobody reads the answer any more. The status is nginx's, for figures alone. */
  CLIENT_LEFT: { status: 499, type: 'invalid_request_error', message: 'The client went away.' },
  /** Thrown when an Idempotency-Key names an earlier request that asked for something else. */
  IDEMPOTENCY_KEY_REUSED: {
    status: 422,
    type: 'invalid_request_error',
    message: 'This Idempotency-Key was sent with another request before; take a new one.',
  },
  /** Thrown when an Idempotency-Key asks again for a response that was deleted since. */
  ANSWER_DELETED: {
    status: 410,
    type: 'invalid_request_error',
    message: "The response to this Idempotency-Key, '{id}', was deleted; take a new key to be answered anew.",
  },
  /** Thrown when the key would have more answers open than its limit allows. Carries Retry-After. */
  TOO_MANY_REQUESTS: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key may have {limit} answers open; try again when one has ended.',
  },
  /** Thrown when a limit of the key's is used up. Carries Retry-After. */
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key may take {limit}; try again in {retryAfterSeconds} s.',
  },
  /** Thrown when an access key may have no more sessions open. Carries Retry-After. */
  TOO_MANY_SESSIONS: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This key has {most} sessions open already (--max-sessions); try again when one has ended.',
  },
  /** Thrown when a session that began now would train too late. Carries Retry-After. */
  TRAINING_BEHIND: {
    status: 429,
    type: 'rate_limit_error',
    message:
      'Open sessions and samples that wait make as many versions as a sample may be old; try again later.',
  },
  /** Thrown when more answers would wait for the engine than may. Carries Retry-After. */
  ENGINE_BUSY: {
    status: 429,
    type: 'rate_limit_error',
    message: '{waiting} requests wait for the engine already; try again later.',
  },
  UPSTREAM_RATE_LIMITED: {
    status: 429,
    type: 'rate_limit_error',
    message: 'The upstream engine is at its limit: {detail}',
  },
  /** Thrown when the upstream engine refuses what the client sent. */
  UPSTREAM_REFUSED: { status: 400, type: 'invalid_request_error', message: '{detail}' },
  /** Thrown when the upstream engine says that it cannot answer now. Carries Retry-After. */
  UPSTREAM_UNAVAILABLE: {
    status: 503,
    type: 'server_error',
    message: 'The upstream engine is not available: {detail}',
  },
  /** Thrown when the upstream engine cannot be reached, fails or breaks off. */
  UPSTREAM_FAILED: { status: 502, type: 'server_error', message: 'The upstream engine failed: {detail}' },
  /** Thrown when feedback or the end of a session could be written to neither log nor outbox. */
  NOT_RECORDED: {
    status: 503,
    type: 'server_error',
    message: 'This could not be recorded just now; try again.',
  },
  /** Thrown when the file of access keys was damaged meanwhile: nobody is let in. Its log says where. */
  KEYS_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'The access keys of this server cannot be read; its log says why.',
  },
  /** Thrown when the log is away, or so long that what a response goes on from is not found in time. */
  RESPONSES_UNREADABLE: {
    status: 503,
    type: 'server_error',
    message: 'Earlier responses cannot be read from the log just now; try again.',
  },
  /** Thrown when the log is not read far enough to know the session of a key. */
  SESSIONS_UNREAD: {
    status: 503,
    type: 'server_error',
    message: 'The sessions in the log are not known just now; try again.',
  },
  /** Thrown when a pinned version's checkpoint cannot be read any more. */
  VERSION_UNAVAILABLE: {
    status: 503,
    type: 'server_error',
    message: 'Version {version} cannot be loaded: {detail}',
  },
  /** Thrown when the head cannot be loaded and no version before it is in service. */
  NOTHING_SERVED: { status: 503, type: 'server_error', message: 'No policy is served: {detail}' },
  /** Thrown while the service stops; another replica may answer. */
  STOPPING: { status: 503, type: 'server_error', message: 'The server is stopping.' },
  ENGINE_FAILED: { status: 500, type: 'server_error', message: 'The engine failed: {detail}' },
  INTERNAL: { status: 500, type: 'server_error', message: 'An internal error occurred.' },
});
