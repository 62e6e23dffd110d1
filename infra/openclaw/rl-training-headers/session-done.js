// @ts-check

/** ms in total; a stopping gateway gives all its sessions two seconds */
const PATIENCE_MS = 1_500;

/**
 * Waits for a promise up to the time limit, and ignores failures.
 *
 * @param {Promise<unknown>} work
 * @param {() => void} onTimeout
 * @returns {Promise<void>}
 */
export function withPatience(work, onTimeout) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      onTimeout();
      resolve();
    }, PATIENCE_MS);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}

/** @typedef {{ readonly baseUrl: string, readonly headers: Readonly<Record<string, string>> }} Server */

/**
 * Whether a session is over. After a compaction it continues.
 *
 * @param {string | undefined} reason
 */
export const isOver = (reason) => reason !== 'compaction';

/**
 * Reports the end of a session to a server. It never throws: an unreported session ends when idle, and an unknown
 * one (404) needs no end.
 *
 * @param {Server} server
 * @param {string} session
 * @param {string | undefined} apiKey
 * @returns {Promise<string | undefined>} reason of a failure
 */
export async function reportEnd({ baseUrl, headers }, session, apiKey) {
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
