import { parseJson } from '../lang/json.ts';
import { TokenClaims } from './answers.ts';
import { invalid } from './datum.ts';

/** s before its end at which a short-lived token is renewed */
const RENEWAL_S = 300;

export type Credentials = {
  readonly current: (signal: AbortSignal) => Promise<string>;
  /** Replaces every key and token in a text, for messages. */
  readonly hide: (text: string) => string;
};

/**
 * Replaces the API key by short-lived tokens, where the server issues them.
 *
 * @param issue asks the server for a token; undefined: it issues none, and the key itself is sent
 * @throws INVALID_REQUEST if no header can hold the key; the message of the HTTP client would show it
 */
export function createCredentials(
  apiKey: string,
  issue: (apiKey: string, signal: AbortSignal) => Promise<string | undefined>,
  now: () => number = Date.now,
): Credentials {
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw invalid('the API key is empty or has a space or a line break');
  const secrets = new Set([apiKey]);
  let current: Promise<{ readonly value: string; readonly until: number }> | undefined;
  const renew = async (signal: AbortSignal) => {
    const token = await issue(apiKey, signal);
    if (token !== undefined) secrets.add(token);
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
    hide: (text) => [...secrets].reduce((left, secret) => left.replaceAll(secret, '***'), text),
  };
}

/** The end of a JSON web token in s since 1970; 0, which renews it each time, if it names none. */
function endOf(token: string): number {
  const claims = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8');
  return TokenClaims.safeParse(parseJson(claims)).data?.exp ?? 0;
}
