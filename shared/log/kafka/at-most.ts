/**
 * Waits for an end in order, but no longer than `ms`: a broker that hangs answers no farewell, and a service
 * is to stop in time. What was left undone there, sessions and transactions, the broker ends by itself.
 */
export async function atMost(ms: number, ending: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([ending, promise]);
  } finally {
    clearTimeout(timer);
  }
}
