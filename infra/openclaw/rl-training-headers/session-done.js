// @ts-check

/** ms for all of it: a gateway that stops gives its sessions two seconds together */
const PATIENCE_MS = 1_500;

/**
 * Waits for something, but never longer than that, and for no failure.
 *
 * @param {Promise<unknown>} work
 * @returns {Promise<void>}
 */
export function withPatience(work) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}

/** @typedef {{ readonly baseUrl: string, readonly headers: Readonly<Record<string, string>> }} Server */

/**
 * Whether a session is over. A compaction goes on as the same one.
 *
 * @param {string | undefined} reason
 */
export const isOver = (reason) => reason !== 'compaction';

/**
 * Tells a server that a session is done. Never throws: a session that is not told of ends by its idle time, and one
 * that the server does not know (404) has nothing to end.
 *
 * @param {Server} server
 * @param {string} session
 * @param {string | undefined} apiKey
 * @returns {Promise<string | undefined>} why it could not be told
 */
export async function tellDone({ baseUrl, headers }, session, apiKey) {
  const authorization = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/sessions/end`, {
      method: 'POST',
      headers: { ...headers, ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ session }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    await response.body?.cancel();
    return response.ok || response.status === 404 ? undefined : `status ${response.status}`;
  } catch (error) {
    return String(error);
  }
}
