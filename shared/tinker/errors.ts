import { errorTable, isServiceError, type ServiceError } from '../runtime/errors.ts';

const server = { status: 502, type: 'server_error' } as const;
const ours = { status: 500, type: 'server_error' } as const;

/** What may go wrong between this program and a training server. No message contains a key. */
export const TinkerError = errorTable({
  WRONG_KEY: {
    ...server,
    message:
      'The training server at {url} refuses the API key ({status}). Check --training-api-key, and that the key may use project {project}.',
  },
  PAYMENT_REQUIRED: {
    ...server,
    message:
      'The training server asks for payment ({detail}). Settle the account there; training continues by itself afterwards.',
  },
  UNREACHABLE: {
    ...server,
    message:
      'The training server at {url} cannot be reached: {detail}. Check --training-url and that the server runs.',
  },
  BUSY: {
    ...server,
    message:
      'The training server answers {path} with {status} after {attempts} attempts: {detail}. Look at its log, or try again later.',
  },
  TIMED_OUT: {
    ...server,
    message:
      'The training server has not finished {path} within {seconds} s. Look at its queue and its log; a larger model may need a longer limit.',
  },
  ANSWER_LOST: {
    ...server,
    message:
      'The answer to {path} was lost ({detail}), and this server would apply the request twice. The attempt begins again with a fresh model.',
  },
  MODEL_NOT_LOADED: {
    ...server,
    message:
      'The training server no longer has model {model} ({detail}): it was restarted, or the session expired. The attempt begins again with a fresh model.',
  },
  TOO_MANY_ADAPTERS: {
    ...server,
    message:
      'The training server has no room for another adapter: {detail}. Raise max_lora_adapters there (it counts the base model too), or unload models.',
  },
  UNKNOWN_MODEL: {
    ...ours,
    message:
      'The training server does not train {model}. Set --training-model to one of its models: {known}.',
  },
  RANK_NOT_POWER_OF_TWO: {
    ...ours,
    message: 'The training server takes only ranks that are powers of two, not {rank}. Set --collector-rank.',
  },
  STATE_MISSING: {
    ...server,
    message:
      'The training server does not have the state {path}: {detail}. Restore its checkpoint folder, or go back to a version whose state it has.',
  },
  STATE_EXISTS: {
    ...server,
    message: 'The training server already has a state {name} that this model has not saved: {detail}.',
  },
  SEQUENCE_REUSED: {
    ...server,
    message:
      'The training server has seen request {sequence} of model {model} with other content: two programs use one model. End the other program; the attempt begins again.',
  },
  NOT_FINITE: {
    ...ours,
    message:
      'The training server computes {detail}. Its model may have taken the gradient already, so the attempt ends. Lower the learning rate, or check the samples.',
  },
  BROKEN_WEIGHTS: {
    ...server,
    message:
      'The training server computes a log-prob that is not finite with a fresh model, so the weights in its memory are broken. Start the server again, or tell its operator; batches wait.',
  },
  /** Where the dialect knows JSON too, the client sends that. */
  NO_PROTOBUF: {
    ...server,
    message:
      'The training server does not take protobuf ({status}). SkyRL takes it from version 0.4.0 on: update the server.',
  },
  REFUSED: {
    ...server,
    message: 'The training server refuses {path}: {detail}',
  },
  BAD_ANSWER: {
    ...server,
    message:
      'The training server at {url} answers {path} in an unknown form: {detail}. Check --training-url and --training-dialect.',
  },
  BAD_ADAPTER: {
    ...server,
    message: 'The adapter from the training server cannot be read: {detail}.',
  },
  BUDGET_SPENT: {
    ...ours,
    message:
      'The training budget is spent: {used} of {budget} tokens are used, and the next request needs {tokens}. Raise --training-budget to go on.',
  },
  NOT_ON_THIS_SERVER: {
    ...ours,
    message: 'A {dialect} server cannot do this: {what}.',
  },
  INVALID_REQUEST: {
    ...ours,
    message: 'A request to the training server is malformed and was not sent: {detail}.',
  },
  WRONG_GRADIENT: {
    ...ours,
    message:
      'The training server does not compute the expected gradient as dialect {dialect}: {detail}. Set --training-dialect to that of the server.',
  },
});

/** Errors that another attempt at the same batch may not meet: the server or the account is at fault. */
const passing: ReadonlySet<string> = new Set([
  'wrong_key',
  'payment_required',
  'unreachable',
  'busy',
  'timed_out',
  'answer_lost',
  'model_not_loaded',
  'too_many_adapters',
  'broken_weights',
  'budget_spent',
]);

/** Whether an attempt ended without any fault of its batch, so that it is no strike against it. */
export const isPassing = (error: unknown): boolean => isServiceError(error) && passing.has(error.code);

/** Whether a server computed a number that is not finite. */
export const isNotFinite = (error: unknown): boolean => isServiceError(error) && error.code === 'not_finite';

type Failure = {
  readonly status: number;
  /** what the server wrote, shortened */
  readonly detail: string;
  readonly path: string;
  readonly url: string;
  readonly project: string;
  readonly model: string;
  readonly sequence: number;
  readonly attempts: number;
};

type Rule = {
  readonly matches: (failure: Failure) => boolean;
  readonly create: (details: Failure) => ServiceError;
};

const saying =
  (pattern: RegExp) =>
  ({ detail }: Failure): boolean =>
    pattern.test(detail);

/** What a refusal means; the first match wins. */
const rules: readonly Rule[] = [
  { matches: ({ status }) => status === 401 || status === 403, create: TinkerError.WRONG_KEY },
  { matches: ({ status }) => status === 402, create: TinkerError.PAYMENT_REQUIRED },
  { matches: saying(/maximum number of lora adapters/i), create: TinkerError.TOO_MANY_ADAPTERS },
  { matches: saying(/sequence number was reused/i), create: TinkerError.SEQUENCE_REUSED },
  { matches: saying(/non-?finite|not finite/i), create: TinkerError.NOT_FINITE },
  { matches: saying(/already exists/i), create: TinkerError.STATE_EXISTS },
  { matches: saying(/checkpoint not found|no such checkpoint/i), create: TinkerError.STATE_MISSING },
  {
    matches: saying(/not loaded|stale request|(future|session|model)\b.* not found/i),
    create: TinkerError.MODEL_NOT_LOADED,
  },
  { matches: ({ status }) => status === 410, create: TinkerError.MODEL_NOT_LOADED },
  { matches: ({ status }) => status >= 500, create: TinkerError.BUSY },
  { matches: () => true, create: TinkerError.REFUSED },
];

/** The error of an answer that is a refusal. */
export const refusalOf = (failure: Failure): ServiceError =>
  rules.find(({ matches }) => matches(failure))!.create(failure);
