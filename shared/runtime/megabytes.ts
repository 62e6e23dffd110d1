const MEGA = 1e6;

/** `12 MB`; with a decimal below ten. */
export const megabytes = (bytes: number): string => `${(bytes / MEGA).toFixed(bytes < 10 * MEGA ? 1 : 0)} MB`;
