/**
 * BullMQ refuses ids that are whole numbers or contain a colon. So our ids get a prefix, and colons and percent
 * signs are percent-encoded.
 */
export const toBullId = (id: string): string => `~${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`;

export const fromBullId = (bullId: string): string =>
  bullId.slice(1).replaceAll('%3A', ':').replaceAll('%25', '%');
