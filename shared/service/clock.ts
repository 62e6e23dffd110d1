/** ms since some moment in the past; never jumps. For spans. */
export const monotonicNow = (): number => performance.now();

/** RFC 3339, UTC. For the `time` of a fact. */
export const utcNow = (): string => new Date().toISOString();
