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
 * What a broker refuses to a client that it can hear: a wrong password, a certificate that nobody vouches for,
 * a missing right. Undefined for everything that may pass by itself.
 */
export function brokerRefusal(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; ) {
    const { type, code, cause, originalError } = at as {
      type?: unknown;
      code?: unknown;
      cause?: unknown;
      originalError?: unknown;
    };
    if (at.name === 'KafkaJSSASLAuthenticationError') return at.message;
    if ([type, code].some((word) => typeof word === 'string' && (words.has(word) || tlsRefusals.has(word))))
      return at.message;
    at = cause ?? originalError;
  }
  return undefined;
}
