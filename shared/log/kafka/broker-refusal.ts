/** Words of a broker, or of TLS, that other settings alone can change. */
const words: ReadonlySet<string> = new Set([
  'SASL_AUTHENTICATION_FAILED',
  'UNSUPPORTED_SASL_MECHANISM',
  'ILLEGAL_SASL_STATE',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
  // node:tls, of the broker's certificate
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  // no TLS at that port
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
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
    if ([type, code].some((word) => typeof word === 'string' && words.has(word))) return at.message;
    at = cause ?? originalError;
  }
  return undefined;
}
