/** ms since some moment in the past; never jumps. For durations. */
export const monotonicNow = (): number => performance.now();

/** RFC 3339, UTC. For the `time` of an event. */
export const utcNow = (): string => new Date().toISOString();
