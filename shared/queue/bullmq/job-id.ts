/**
 * BullMQ refuses ids that are whole numbers or hold a colon: a mark stands before ours, and colons (and the
 * sign that escapes them) are percent-encoded.
 */
export const toBullId = (id: string): string => `~${id.replaceAll('%', '%25').replaceAll(':', '%3A')}`;

export const fromBullId = (bullId: string): string =>
  bullId.slice(1).replaceAll('%3A', ':').replaceAll('%25', '%');
