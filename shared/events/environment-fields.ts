import { z } from 'zod';

/**
 * Fields of every event about an environment. One session leases one environment, so the session names the lease:
 * asking for it again gives the same one.
 */
export const leaseFields = {
  lane: z.string(),
  key: z.string().describe('id of the access key'),
  session: z.string().describe('session of the attempt; it names the lease'),
} as const;

/** When a lease ends unless it is renewed. */
export const expiresAt = z.iso.datetime().describe('the lease ends then unless it is renewed');

/** Why an environment could not carry an attempt to its end. Such an attempt has no reward. */
export const environmentFailureKinds = [
  'environment-unavailable',
  'environment-lost',
  'environment-broken',
  'evaluation-failed',
] as const;
