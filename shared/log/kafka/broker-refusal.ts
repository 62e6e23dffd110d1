import { logError } from '../errors.ts';
import { tlsRefusals } from '../tls-refusals.ts';

/** Broker errors that only a change of settings can fix. */
const words: ReadonlySet<string> = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
]);

/**
 * The message of a refusal: a wrong password, an untrusted certificate, a missing permission. Undefined for
 * errors that may be temporary.
 */
export function brokerRefusal(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; ) {
    const { type, code, cause, originalError, errors } = at as {
      type?: unknown;
      code?: unknown;
      cause?: unknown;
      originalError?: unknown;
      /** one per topic that could not be created */
      errors?: readonly unknown[];
    };
    if (at.name === 'KafkaJSSASLAuthenticationError') return at.message;
    if ([type, code].some((word) => typeof word === 'string' && (words.has(word) || tlsRefusals.has(word))))
      return at.message;
    at = cause ?? originalError ?? errors?.[0];
  }
  return undefined;
}

/** Refusals in a row that count as final: a broker that is starting may not know its users and their rights. */
const finalAfter = 3;

/** Counts refusals over the attempts of a repeated operation. */
export function countRefusals(what: string) {
  let count = 0;
  return {
    worked: (): void => {
      count = 0;
    },
    /** @throws LogRefused if another attempt would fail in the same way */
    failed: (error: unknown): void => {
      const refusal = brokerRefusal(error);
      count = refusal === undefined ? 0 : count + 1;
      if (count >= finalAfter) throw logError('LogRefused', `the broker refuses ${what}: ${refusal}`, error);
    },
  };
}
