import { parseJson } from '../lang/json.ts';
import { TokenClaims } from './answers.ts';

/** s before its end at which a short-lived token is renewed */
const RENEWAL_S = 300;

export type Credentials = { readonly current: (signal: AbortSignal) => Promise<string> };

/**
 * Replaces the API key by short-lived tokens, where the server issues them.
 *
 * @param issue asks the server for a token; undefined: it issues none, and the key itself is sent
 */
export function createCredentials(
  apiKey: string,
  issue: (apiKey: string, signal: AbortSignal) => Promise<string | undefined>,
  now: () => number = Date.now,
): Credentials {
  let current: Promise<{ readonly value: string; readonly until: number }> | undefined;
  const renew = async (signal: AbortSignal) => {
    const token = await issue(apiKey, signal);
    return token === undefined
      ? { value: apiKey, until: Infinity }
      : { value: token, until: 1000 * (endOf(token) - RENEWAL_S) };
  };
  return {
    current: async (signal) => {
      const known = await current?.catch(() => undefined);
      if (known === undefined || now() >= known.until) current = renew(signal);
      return (await current!).value;
    },
  };
}

/** The end of a JSON web token in s since 1970; 0, which renews it each time, if it names none. */
function endOf(token: string): number {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  return TokenClaims.safeParse(parseJson(claims)).data?.exp ?? 0;
}
