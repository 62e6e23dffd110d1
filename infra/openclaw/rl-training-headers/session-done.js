// @ts-check

/** ms; a stopping gateway gives all its sessions two seconds in total */
const STOPPING_MS = 1_500;
/** ms; nothing waits for the end of a session but a request that uses its id again */
const RUNNING_MS = 10_000;

/**
 * How long to wait for the server.
 *
 * @param {string | undefined} reason why the session ends
 * @returns {number} ms
 */
export const patienceMs = (reason) =>
  reason === 'shutdown' || reason === 'restart' ? STOPPING_MS : RUNNING_MS;

/**
 * Waits for a promise up to the time limit, and ignores failures.
 *
 * @param {Promise<unknown>} work
 * @param {number} limitMs
 * @param {() => void} onTimeout
 * @returns {Promise<void>}
 */
export function withPatience(work, limitMs, onTimeout) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      onTimeout();
      resolve();
    }, limitMs);
    const done = () => {
      clearTimeout(timer);
      resolve();
    };
    work.then(done, done);
  });
}

/** @typedef {{ readonly baseUrl: string, readonly headers: Readonly<Record<string, string>> }} Server */
/** @typedef {{ readonly session: string, readonly apiKey: string | undefined, readonly limitMs: number }} Report */

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
 * @param {Report} report
 * @returns {Promise<string | undefined>} reason of a failure
 */
export async function reportEnd({ baseUrl, headers }, { session, apiKey, limitMs }) {
  const authorization = apiKey ? { authorization: `Bearer ${apiKey}` } : {};
  try {
    const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/sessions/end`, {
      method: 'POST',
      headers: { ...headers, ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ session }),
      signal: AbortSignal.timeout(limitMs),
    });
    await response.body?.cancel();
    return response.ok || response.status === 404 ? undefined : `status ${response.status}`;
  } catch (error) {
    return String(error);
  }
}
