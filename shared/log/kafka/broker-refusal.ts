import { logError } from '../errors.ts';
import { tlsRefusals } from '../tls-refusals.ts';

/** Words of a broker that other settings alone can change. */
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
 * What a broker refuses to a client that it can hear: a wrong password, a certificate that nobody vouches
 * for, a missing right. Undefined for everything that may pass by itself.
 */
export function brokerRefusal(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; ) {
    const { type, code, cause, originalError, errors } = at as {
      type?: unknown;
      code?: unknown;
      cause?: unknown;
      originalError?: unknown;
      /** one per topic that could not be made */
      errors?: readonly unknown[];
    };
    if (at.name === 'KafkaJSSASLAuthenticationError') return at.message;
    if ([type, code].some((word) => typeof word === 'string' && (words.has(word) || tlsRefusals.has(word))))
      return at.message;
    at = cause ?? originalError ?? errors?.[0];
  }
  return undefined;
}

/** So many in a row count as meant: a broker that starts may not know its users and their rights yet. */
const meantAfter = 3;

/** Follows the failures of what is tried again and again. */
export function countRefusals(what: string) {
  let count = 0;
  return {
    worked: (): void => {
      count = 0;
    },
    /** @throws LogRefused where another try would come to the same */
    failed: (error: unknown): void => {
      const refusal = brokerRefusal(error);
      count = refusal === undefined ? 0 : count + 1;
      if (count >= meantAfter) throw logError('LogRefused', `the broker refuses ${what}: ${refusal}`, error);
    },
  };
}
